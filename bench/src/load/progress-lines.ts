/** What the generator's process says on standard error while it runs. */
export const MEASURING_LINE = 'measuring'
export const SECOND_LINE = 'second'
