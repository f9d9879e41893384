/** The JSON Schemas of bench/schema, compiled once. */
import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

export type SchemaName = 'environment' | 'plan' | 'run' | 'row' | 'parity' | 'outcome' | 'report'

const compiled = new Map<SchemaName, ValidateFunction>()

/** What is wrong with a value, each with its place in it; empty: nothing. */
export function problemsIn(name: SchemaName, value: unknown): string[] {
  const validate = validatorOf(name)
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message = 'is wrong', params }) => {
    const field = (params as { additionalProperty?: string }).additionalProperty
    return `${instancePath === '' ? 'the whole' : instancePath} ${message}${field === undefined ? '' : `: ${field}`}`
  })
}

function validatorOf(name: SchemaName): ValidateFunction {
  const known = compiled.get(name)
  if (known !== undefined) return known
  const file = new URL(`../../schema/${name}.schema.json`, import.meta.url)
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
  const validate = ajv.compile(JSON.parse(readFileSync(file, 'utf8')))
  compiled.set(name, validate)
  return validate
}
