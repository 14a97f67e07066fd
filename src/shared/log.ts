/** Where Corral tells what it does. `pino` fits; the library is silent by default. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const nothing = (): void => {}

/** The logger that says nothing. */
export const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }
