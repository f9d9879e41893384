/** The version of the package that runs, from source or from dist/. */
import { readFileSync } from 'node:fs'

const manifest: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
)

export const softwareVersion = manifest.version
