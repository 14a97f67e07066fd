import { pino } from 'pino'
import { A2AError } from '../index.ts'
import type { Logger } from '../shared/log.ts'
import { toPrintable, toPrintableLine } from '../shared/text.ts'
import { dim, type Screen, stderr } from './screen.ts'
import type { Piece } from './terminal/piece.ts'

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
