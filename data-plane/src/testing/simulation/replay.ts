/** The command that runs one seed again. */
export function replayCommand(seed: number): string {
  return `npm run -w data-plane simulate -- --seeds 1 --from ${seed}`
}
