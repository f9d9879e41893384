/** Where the built programs are. */
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
export const CONTROL_PLANE = `${ROOT}control-plane/dist/main.js`
export const CLI = `${ROOT}control-plane/dist/cli/main.js`
export const NODE = `${ROOT}data-plane/dist/main.js`
