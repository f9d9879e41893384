/**
 * After vite: writes each file compressed beside itself, and fails the build when what a browser needs
 * for the first page is larger than it may be.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stdout } from 'node:process'
import { brotliCompressSync, gzipSync } from 'node:zlib'

const firstLoadBytesMax = 250 * 1024
const compressible = /\.(js|css|html|svg)$/

const folder = new URL('../dist/', import.meta.url).pathname
const sizes = new Map<string, number>()
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  if (!compressible.test(name)) continue
  const bytes = readFileSync(join(folder, name))
  const gzipped = gzipSync(bytes, { level: 9 })
  sizes.set(name, gzipped.length)
  writeFileSync(join(folder, `${name}.gz`), gzipped)
  writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes))
}
const page = readFileSync(join(folder, 'index.html'), 'utf8')
const first = [...sizes].filter(([name]) => name === 'index.html' || page.includes(name))
const total = first.reduce((sum, [, size]) => sum + size, 0)
stdout.write(`first load: ${(total / 1024).toFixed(1)} KiB with gzip\n`)
if (total > firstLoadBytesMax) {
  throw new Error(`the first load may have at most ${firstLoadBytesMax / 1024} KiB`)
}
