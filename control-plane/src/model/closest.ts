/** Which of some names may have been meant by one that is not among them. */

/** So many characters of a name's beginning may stand for it. */
const beginningMin = 3

/** undefined: none is so close that it was probably meant. */
export function closest(given: string, names: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Math.min(3, Math.ceil(given.length / 3) + 1)
  for (const name of names) {
    if (given.length >= beginningMin && name.startsWith(given)) return name
    if (Math.abs(name.length - given.length) >= bestDistance) continue
    const distance = editDistance(given, name)
    if (distance >= bestDistance) continue
    best = name
    bestDistance = distance
  }
  return best
}

/** How many characters must be put in, taken out or replaced (Levenshtein); two rows are enough. */
function editDistance(left: string, right: string): number {
  let above = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1]
      const replaced = (above[column - 1] ?? 0) + (isSame ? 0 : 1)
      const shorter = (above[column] ?? 0) + 1
      const longer = (current[column - 1] ?? 0) + 1
      current.push(Math.min(replaced, shorter, longer))
    }
    above = current
  }
  return above[right.length] ?? 0
}
