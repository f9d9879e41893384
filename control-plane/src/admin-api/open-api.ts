/** The frame of the OpenAPI document; its paths come from the route schemas. */
import type { SwaggerOptions } from '@fastify/swagger'

export function openApi(version: string): SwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sluice admin API',
        version,
        description:
          'Every write publishes a version of the whole configuration; its answer has the number in the header Sluice-Version. Errors are problem details (RFC 9457).',
      },
      components: {
        securitySchemes: {
          token: { type: 'http', scheme: 'bearer' },
          session: { type: 'apiKey', in: 'cookie', name: 'sluice_session' },
        },
      },
      security: [{ token: [] }, { session: [] }],
    },
    transformObject: (document) =>
      'openapiObject' in document ? hoistSchemas(document.openapiObject) : document.swaggerObject,
  }
}

/** Moves every schema with a title to the components, once, and refers to it from where it was. */
function hoistSchemas<T extends { components?: { schemas?: object } }>(document: T): T {
  const schemas = new Map<string, unknown>()
  const hoist = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(hoist)
    if (typeof value !== 'object' || value === null) return value
    const hoisted = Object.fromEntries(
      Object.entries(value).map(([key, part]) => [key, hoist(part)]),
    )
    const { title, type } = hoisted
    if (typeof title !== 'string' || type !== 'object') return hoisted
    schemas.set(title, hoisted)
    return { $ref: `#/components/schemas/${title}` }
  }
  // The cast holds: hoisting keeps the shape of everything that is not a schema.
  const { paths, ...frame } = document as T & { paths: unknown }
  const hoistedPaths = hoist(paths)
  const sorted = [...schemas].sort(([left], [right]) => (left < right ? -1 : 1))
  const components = { ...document.components, schemas: Object.fromEntries(sorted) }
  return { ...frame, components, paths: hoistedPaths } as unknown as T
}
