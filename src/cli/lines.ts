import { createInterface, type Interface } from 'node:readline'
import { Writable } from 'node:stream'

/** Lines that a person types, one after another; those typed while nobody asks wait for their turn. */
interface Lines {
  /** The next line; undefined when there are no more. */
  ask(prompt: string): Promise<string | undefined>
  close(): void
}

/** What a person does while nobody asks. */
interface Meanwhile {
  /** Ctrl-C, at any time. */
  interrupted(): void
  /** A whole line; true takes it, so that it does not wait for its turn. */
  typed(line: string): boolean
}

/** Reads lines from a terminal, with editing and history, or from a file or pipe. */
export function createLines({ interrupted, typed }: Meanwhile): Lines {
  const { stdin: input, stdout } = process
  const terminal = Boolean(input.isTTY && stdout.isTTY)
  const output = new Echo(stdout)
  const reader: Interface = createInterface({ input, output, terminal, historySize: 200 })
  const waitingLines: string[] = []
  let waiting: ((line: string | undefined) => void) | undefined
  let closed = false

  function give(line: string | undefined): void {
    const taker = waiting
    waiting = undefined
    output.muted = terminal
    if (taker) taker(line)
    else if (line !== undefined && !(terminal && typed(line))) waitingLines.push(line)
  }

  reader.on('line', give)
  reader.on('SIGINT', interrupted)
  reader.on('close', () => {
    closed = true
    give(undefined)
  })
  return {
    ask(prompt) {
      output.muted = false
      const [line] = waitingLines.splice(0, 1)
      if (line !== undefined || closed) {
        // Typed ahead, when nothing of it was seen.
        if (terminal && line !== undefined) stdout.write(`${prompt}${line}\n`)
        output.muted = terminal
        return Promise.resolve(line)
      }
      if (terminal) {
        reader.setPrompt(prompt)
        reader.prompt(true)
      }
      return new Promise((resolve) => {
        waiting = resolve
      })
    },
    close: () => reader.close(),
  }
}

/** What the editor of lines writes; what is typed while an answer comes is not seen in the middle of it. */
class Echo extends Writable {
  muted = false
  readonly #stream: NodeJS.WriteStream

  constructor(stream: NodeJS.WriteStream) {
    super()
    this.#stream = stream
    stream.on('resize', () => this.emit('resize'))
  }

  /** Asked for by the editor, which breaks lines there. */
  get columns(): number {
    return this.#stream.columns || 80
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (!this.muted) this.#stream.write(chunk)
    done()
  }
}
