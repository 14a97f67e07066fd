import { pino } from 'pino'
import type { Logger } from '../shared/log.ts'
import { dim, type Output } from './text.ts'

/** The levels of `--log-level`. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** How much is logged, and how. */
export interface LoggerOptions {
  readonly level: (typeof logLevels)[number]
  /** Show where errors come from. */
  readonly debug?: boolean
}

/** Words that credentials go by in what is logged. */
const secrets = ['authorization', 'token', 'accessToken', 'apiKey', 'key', 'clientSecret', 'cookie']

/** Logs to stderr: readable lines on a terminal, JSON elsewhere. */
export function createLogger({ level, debug = false }: LoggerOptions): Logger {
  const err = (thrown: unknown): unknown => describe(thrown, debug)
  const options = {
    level,
    base: null,
    serializers: { err, error: err },
    redact: { paths: [...secrets, ...secrets.map((name) => `*.${name}`)], censor: '[redacted]' },
  }
  const terminal = process.stderr.isTTY
  return pino(options, terminal ? toLines(process.stderr) : pino.destination({ fd: 2, sync: true }))
}

function describe(thrown: unknown, debug: boolean): unknown {
  if (!(thrown instanceof Error)) return thrown
  const { name, message, stack, cause } = thrown
  const code = 'code' in thrown && { code: thrown.code }
  return {
    name,
    message,
    ...code,
    ...(cause !== undefined && { cause: describe(cause, debug) }),
    ...(debug && { stack }),
  }
}

/** The levels of pino by number. */
const names: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info', 40: 'WARN', 50: 'ERROR' }

/** Writes pino's JSON as one readable line each. */
function toLines(output: Output): { write(line: string): void } {
  return {
    write(line) {
      const { level, time, msg, ...fields } = JSON.parse(line)
      const clock = new Date(time).toTimeString().slice(0, 8)
      const rest = Object.entries(fields).map(([key, value]) => `${key}=${toWord(value)}`)
      const facts = rest.length > 0 ? ` ${dim(rest.join(' '), output)}` : ''
      output.write(`${dim(clock, output)} ${names[level] ?? level} ${msg}${facts}\n`)
    },
  }
}

function toWord(value: unknown): string {
  return typeof value === 'string' && !/[\s"=]/.test(value) ? value : JSON.stringify(value)
}
