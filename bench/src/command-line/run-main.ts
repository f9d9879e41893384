/** Runs a program's main function: its exit code, or 2 and one line that says why it could not run. */
export async function runMain(main: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main()
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : ''
    process.stderr.write(`${error instanceof Error ? error.message : error} ${cause}\n`)
    process.exitCode = 2
  }
}
