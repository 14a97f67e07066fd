import { createInterface, type Interface } from 'node:readline'

/** Lines that a person types, one after another; those typed while nobody asks wait for their turn. */
interface Lines {
  /** The next line; undefined when there are no more. */
  ask(prompt: string): Promise<string | undefined>
  close(): void
}

/** Reads lines from a terminal, with editing and history, or from a file or pipe. */
export function createLines(interrupted: () => void): Lines {
  const { stdin: input, stdout: output } = process
  const terminal = Boolean(input.isTTY && output.isTTY)
  const reader: Interface = createInterface({ input, output, terminal, historySize: 200 })
  const typed: string[] = []
  let waiting: ((line: string | undefined) => void) | undefined
  let closed = false

  function give(line: string | undefined): void {
    const taker = waiting
    waiting = undefined
    if (taker) taker(line)
    else if (line !== undefined) typed.push(line)
  }

  reader.on('line', give)
  reader.on('SIGINT', interrupted)
  reader.on('close', () => {
    closed = true
    give(undefined)
  })
  return {
    ask(prompt) {
      const [line] = typed.splice(0, 1)
      if (line !== undefined || closed) return Promise.resolve(line)
      if (terminal) {
        reader.setPrompt(prompt)
        reader.prompt()
      }
      return new Promise((resolve) => {
        waiting = resolve
      })
    },
    close: () => reader.close(),
  }
}
