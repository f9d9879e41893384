/** Text that becomes part of a page is escaped here and nowhere else. */

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character)
}

/** JSON inside a script element: no `<` may end it. */
export function jsonBlock(id: string, value: unknown): string {
  const text = JSON.stringify(value).replaceAll('<', '\\u003c')
  return `<script type="application/json" id="${escaped(id)}">${text}</script>`
}

export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  name = '',
): string {
  const head = heads.map((text) => `<th scope="col">${escaped(text)}</th>`).join('')
  const body = rows
    .map(([first = '', ...others]) => {
      const cells = others.map((text) => `<td>${escaped(text)}</td>`).join('')
      return `<tr><th scope="row">${escaped(first)}</th>${cells}</tr>`
    })
    .join('')
  return `<div class="scroll"><table class="${name}"><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`
}
