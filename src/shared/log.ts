import { toPrintable, toPrintableLine } from './text.ts'

/** Where Corral tells what it does: any object with these four methods, such as a `pino` logger. */
export interface Logger {
  /** Details for whoever looks for a fault. */
  debug(fields: object, message: string): void
  /** What happens in the ordinary course. */
  info(fields: object, message: string): void
  /** What somebody should look at. */
  warn(fields: object, message: string): void
  /** What went wrong. */
  error(fields: object, message: string): void
  /**
   * Whether lines of a level are kept, as pino tells it. Where `info` is, each request, turn and delegation is told.
   */
  isLevelEnabled?(level: string): boolean
}

const nothing = (): void => {}

/** The logger that says nothing. */
export const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/**
 * The logger of a server that was given none: warnings and errors go to stderr, what was thrown with its stack, so that
 * a developer sees what the caller must not.
 */
const stderrLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: (fields, message) => console.error(toText('WARN', fields, message)),
  error: (fields, message) => console.error(toText('ERROR', fields, message)),
}

/** The logger that an option means: one's own, none where it is `false`, else stderr. */
export function toLogger(option: Logger | false | undefined): Logger {
  return option === false ? silent : (option ?? stderrLogger)
}

/** Says what every user of a program is to see: at info to a logger, on stderr where none was given. */
export function announce(option: Logger | false | undefined, message: string): void {
  if (option === undefined) console.error(toPrintableLine(message))
  else toLogger(option).info({}, message)
}

/** Whether a logger wants a line for everything that happens. One that cannot say so does not. */
export function tellsAll(logger: Logger): boolean {
  return logger.isLevelEnabled?.('info') ?? false
}

function toText(level: string, fields: object, message: string): string {
  const facts: string[] = []
  const causes: string[] = []
  for (const [name, value] of Object.entries(fields))
    if (value instanceof Error) causes.push(withCauses(value))
    else facts.push(`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const line = toPrintableLine([level, message, ...facts].join(' '))
  return [line, ...causes.map(toPrintable)].join('\n')
}

/** An error and what caused it, each with its stack. */
function withCauses(error: Error): string {
  const own = error.stack ?? String(error)
  const { cause } = error
  if (cause === undefined) return own
  return `${own}\ncaused by: ${cause instanceof Error ? withCauses(cause) : String(cause)}`
}
