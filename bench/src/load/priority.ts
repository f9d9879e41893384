/** What other programs take away would be told of one run and not of the next, unless none of them comes first. */
import { outputOf } from '../programs.ts'

/** This process and all that it starts from now on; false where that is not allowed. */
export async function takeRealTimePriority(): Promise<boolean> {
  const said = await outputOf('chrt', ['-r', '-p', '10', String(process.pid)])
  return said !== undefined
}
