import { createInterface, type Interface } from 'node:readline'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { A2AError } from '../index.ts'
import type { Logger } from '../shared/log.ts'
import { toPrintable, toPrintableLine } from '../shared/text.ts'
import { codesOf, dim, type Piece } from './terminal/text.ts'

export { dim } from './terminal/text.ts'

/**
 * Where a person or a program reads what a command says. All output leaves here, and any of it may be a stranger's
 * words: what could steer a terminal is written out, and only then are our own codes added.
 */
export interface Screen {
  readonly isTTY: boolean
  /** Whether styles are shown: on a terminal, unless NO_COLOR, `--no-color` or TERM=dumb say no. */
  readonly hasStyles: boolean
  /** Whether lines can be shown and taken back: on a terminal that is no dumb one, and not in CI. */
  readonly isLively: boolean
  /** How wide it is; 80 where nobody knows. */
  readonly columns: number
  write(...pieces: readonly Piece[]): void
  /** Writes over the line that is there, on a terminal. */
  rewrite(line: string): void
  /**
   * Lines that stand below all output until the next output takes them away; none takes them away too. Only on a lively
   * screen, and not while a line is open. A line as wide as the screen could not be taken back.
   */
  stand(...lines: readonly (readonly Piece[])[]): void
}

/** What a terminal shows at the moment; both screens may lead to the same. */
interface Shown {
  /** How many lines stand below the output. */
  standing: number
  /** Whether the last output did not end its line. */
  lineIsOpen: boolean
}

const screens = createScreens()

/** What a command gives. */
export const stdout: Screen = screens.output

/** What is said about it: progress, state, errors. */
export const stderr: Screen = screens.about

/** Whoever reads our output may stop early (`corral task list URL | head -1`). */
export function leaveWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit()
  })
}

function createScreens(): { readonly output: Screen; readonly about: Screen } {
  const shown: Shown = { standing: 0, lineIsOpen: false }
  const { stdout: output, stderr: about } = process
  return { output: createScreen(output, shown), about: createScreen(about, shown) }
}

function createScreen(stream: NodeJS.WriteStream, shown: Shown): Screen {
  const isTTY = stream.isTTY === true
  const isLively = isTTY && process.env.TERM !== 'dumb' && !isSet(process.env.CI)
  // Asked when something is written: `--no-color` is known only when the command line is read.
  const hasStyles = (): boolean => isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  const toText = (piece: Piece): string => {
    if (typeof piece === 'string') return toPrintable(piece)
    const text = toPrintable(piece.text)
    if (text === '' || !hasStyles()) return text
    const [on, off] = codesOf(piece.style)
    return `${on}${text}${off}`
  }
  const columns = (): number => stream.columns || 80
  return {
    isTTY,
    isLively,
    get hasStyles() {
      return hasStyles()
    },
    get columns() {
      return columns()
    },
    write(...pieces) {
      const text = pieces.map(toText).join('')
      if (text === '') return
      const clear = isTTY ? erase(shown) : ''
      if (isTTY) shown.lineIsOpen = !text.endsWith('\n')
      stream.write(clear + text)
    },
    rewrite: (line) => void stream.write(`\r\u001b[K${toPrintable(line)}`),
    stand(...lines) {
      if (!isLively || shown.lineIsOpen) return
      const clear = erase(shown)
      // A line above the first row could not be taken back.
      const some = lines.slice(-Math.max(1, (stream.rows || 24) - 1))
      const texts = some.map((line) => line.map(toText).join(''))
      shown.standing = texts.length
      if (clear || texts.length > 0) stream.write(clear + texts.join('\n'))
    },
  }
}

/** What takes the standing lines away. */
function erase(shown: Shown): string {
  const { standing } = shown
  if (standing === 0) return ''
  shown.standing = 0
  return standing === 1 ? '\r\u001b[J' : `\r\u001b[${standing - 1}A\u001b[J`
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && !/^(?:|0|false)$/i.test(value)
}

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

/** The levels of `--log-level`. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** How much is logged, and how. */
export interface LoggerOptions {
  readonly level: (typeof logLevels)[number]
  /** Show where errors come from. */
  readonly debug?: boolean
  /** The number of this process among those that serve together; it stands in each line. */
  readonly worker?: number | undefined
}

/** Words that credentials go by in what is logged. */
const secrets = ['authorization', 'token', 'accessToken', 'apiKey', 'key', 'clientSecret', 'cookie']

/** Logs to stderr: readable lines on a terminal, JSON elsewhere. */
export function createLogger({ level, debug = false, worker }: LoggerOptions): Logger {
  const err = (thrown: unknown): unknown => describe(thrown, debug)
  const options = {
    level,
    base: worker === undefined ? null : { worker },
    serializers: { err, error: err },
    redact: { paths: [...secrets, ...secrets.map((name) => `*.${name}`)], censor: '[redacted]' },
  }
  return pino(options, stderr.isTTY ? toLines(stderr) : toJsonLines())
}

/**
 * What was thrown, in plain JSON. An A2AError says all in its words; anything else comes from somebody's code, and shows
 * where: without that, an agent that throws would leave its developer nothing.
 */
function describe(thrown: unknown, debug: boolean): unknown {
  if (!(thrown instanceof Error)) return thrown
  const { name, message, stack, cause } = thrown
  const code = 'code' in thrown && { code: thrown.code }
  return {
    name,
    message,
    ...code,
    ...((debug || !(thrown instanceof A2AError)) && { stack }),
    ...(cause !== undefined && { cause: describe(cause, debug) }),
  }
}

/** Writes pino's JSON as it is, but for what pino leaves in it that a terminal would obey. */
function toJsonLines(): { write(line: string): void } {
  const destination = pino.destination({ fd: 2, sync: true })
  return { write: (line) => void destination.write(toPrintable(line)) }
}

/** The levels of pino by number. */
const names: Readonly<Record<number, Piece>> = {
  20: dim('debug'),
  30: { text: 'info', style: { colour: 37 } },
  40: { text: 'WARN', style: { bold: true, colour: 172 } },
  50: { text: 'ERROR', style: { bold: true, colour: 160 } },
}

/** Writes pino's JSON as one readable line each, stacks below it. */
function toLines(screen: Screen): { write(line: string): void } {
  return {
    write(line) {
      const { level, time, msg, ...fields } = JSON.parse(line)
      const clock = new Date(time).toTimeString().slice(0, 8)
      const stacks: string[] = []
      const rest = Object.entries(fields).map(
        ([key, value]) => `${key}=${toWord(withoutStacks(value, stacks))}`,
      )
      const facts = rest.length > 0 ? [' ', dim(toPrintableLine(rest.join(' ')))] : []
      const below = stacks.flatMap((stack) => [dim(stack), '\n'])
      const name = names[level] ?? String(level)
      screen.write(dim(clock), ' ', name, toPrintableLine(` ${msg}`), ...facts, '\n', ...below)
    },
  }
}

/** An error's words and those of its causes; their stacks go to the list. */
function withoutStacks(value: unknown, stacks: string[]): unknown {
  if (typeof value !== 'object' || value === null || !('stack' in value || 'cause' in value))
    return value
  const { stack, cause, ...words } = value as { stack?: unknown; cause?: unknown } // see describe
  if (typeof stack === 'string') stacks.push(stack)
  return { ...words, ...(cause !== undefined && { cause: withoutStacks(cause, stacks) }) }
}

function toWord(value: unknown): string {
  return typeof value === 'string' && !/[\s"=]/.test(value) ? value : JSON.stringify(value)
}
