/** Where Corral tells what it does. `pino` fits. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const nothing = (): void => {}

/** The logger that says nothing. */
export const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/**
 * The logger of a server that was given none: warnings and errors go to stderr, what was thrown with its stack, so that
 * a developer sees what the caller must not.
 */
export const stderrLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: (fields, message) => console.error(toText('WARN', fields, message)),
  error: (fields, message) => console.error(toText('ERROR', fields, message)),
}

/** The logger that an option means: one's own, none where it is `false`, else stderr. */
export function toLogger(option: Logger | false | undefined): Logger {
  return option === false ? silent : (option ?? stderrLogger)
}

/**
 * Text that a stranger may have written, as a terminal may show it: control characters, and those that turn the
 * direction of writing, are written out. Line feeds and tabs stay.
 */
export function toPrintable(text: string): string {
  return text.replace(unprintable, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const unprintable =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

function toText(level: string, fields: object, message: string): string {
  const facts: string[] = []
  const stories: string[] = []
  for (const [name, value] of Object.entries(fields))
    if (value instanceof Error) stories.push(storyOf(value))
    else facts.push(`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return toPrintable([[level, message, ...facts].join(' '), ...stories].join('\n'))
}

/** An error and what caused it, each with its stack. */
function storyOf(error: Error): string {
  const own = error.stack ?? String(error)
  const { cause } = error
  if (cause === undefined) return own
  return `${own}\ncaused by: ${cause instanceof Error ? storyOf(cause) : String(cause)}`
}
