/** The character classes of HTTP/1.1 (RFC 9110 section 5.6.2, RFC 9112), as tables over bytes. Hot. */

export const CR = 0x0d
export const LF = 0x0a
export const SP = 0x20
export const HTAB = 0x09
export const COLON = 0x3a
export const SLASH = 0x2f

function table(test: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (test(byte) ? 1 : 0))
}

const tokenMarks = new Set([..."!#$%&'*+-.^_`|~"].map((mark) => mark.charCodeAt(0)))
const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39
const isAlpha = (byte: number) => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a
const isHexLetter = (byte: number) => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66

/** tchar, RFC 9110 section 5.6.2. */
export const TOKEN = table((byte) => isDigit(byte) || isAlpha(byte) || tokenMarks.has(byte))

/** field-vchar, obs-text, SP and HTAB, RFC 9110 section 5.5. */
export const FIELD_VALUE = table((byte) => byte === HTAB || (byte >= 0x20 && byte !== 0x7f))

/** Visible ASCII without "#", which a request target never carries (RFC 9112 section 3.2). */
export const TARGET = table((byte) => byte > 0x20 && byte < 0x7f && byte !== 0x23)

/** What a host name is written with here: letters, digits, "-", "." and "_". */
export const HOST_NAME = table(
  (byte) => isDigit(byte) || isAlpha(byte) || byte === 0x2d || byte === 0x2e || byte === 0x5f,
)

/** The value of a hexadecimal digit, 255 for any other byte. */
export const HEX_VALUE = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (isDigit(byte)) return byte - 0x30
  return isHexLetter(byte) ? (byte | 0x20) - 0x57 : 255
})

/** ASCII letters in lower case, every other byte as it is. */
export const LOWER_CASE = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte,
)
