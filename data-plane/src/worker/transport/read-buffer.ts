/** Where all connections of a worker read into: what is in it is valid until the call that tells of it returns. */
import { limits } from '../../limits.ts'

export const readBuffer = Buffer.allocUnsafeSlow(limits.readBytesMax)
