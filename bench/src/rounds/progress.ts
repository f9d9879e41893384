/** What is going on, for whoever waits: one line that replaces itself on a terminal, else a line for each run. */

export interface Step {
  readonly scenario: string
  readonly proxy: string
  readonly round: number
  readonly rounds: number
  readonly secondsLeft: number
  readonly note?: string
}

export class Progress {
  readonly #stream: NodeJS.WriteStream
  #isOpen = false

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  step(step: Step): void {
    const text = progressText(step)
    if (this.#stream.isTTY) {
      this.#stream.write(`\r\x1b[K${text}`)
      this.#isOpen = true
    } else {
      this.#stream.write(`${text}\n`)
    }
  }

  say(text: string): void {
    this.end()
    this.#stream.write(`${text}\n`)
  }

  end(): void {
    if (this.#isOpen) this.#stream.write('\r\x1b[K')
    this.#isOpen = false
  }
}

export function progressText({ scenario, proxy, round, rounds, secondsLeft, note }: Step): string {
  const left = Math.max(0, Math.round(secondsLeft))
  const time = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`
  return `${scenario} · ${proxy} · round ${round + 1} of ${rounds} · ${time} left${note === undefined ? '' : ` · ${note}`}`
}
