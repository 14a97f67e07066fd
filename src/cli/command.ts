import { type Command, InvalidArgumentError } from 'commander'

/** How a command presents itself. */
interface CommandWords {
  /** Its name and arguments, as commander writes them. */
  readonly usage: string
  readonly description: string
  /** Lines that work as they stand. */
  readonly examples: readonly string[]
}

/** Adds a command with what all of them share: examples in its help, `--json` and `--debug`. */
export function addCommand(parent: Command, words: CommandWords): Command {
  const examples = words.examples.map((line) => `  ${line}`).join('\n')
  return parent
    .command(words.usage)
    .description(words.description)
    .option('--json', 'JSON on stdout')
    .option('--debug', 'show where errors come from')
    .option('--no-color', 'no colours, as where NO_COLOR is set')
    .addHelpText('after', `\nExamples:\n${examples}`)
}

/** What `--allow-unauthenticated` does, for the help of commands that serve. */
export const allowUnauthenticated: string =
  'start also where anyone on the network may call without credentials'

/** An action that gives the exit code: 0 done, 1 what was asked for failed. */
export function exits<A extends readonly unknown[]>(
  work: (...args: A) => Promise<number>,
): (...args: A) => Promise<void> {
  return async (...args) => {
    process.exitCode = await work(...args)
  }
}

/** A port, from the command line. */
export function toPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) throw new InvalidArgumentError('A port is a number from 0 to 65535.')
  return port
}

/** A positive number, from the command line. */
export function toCount(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1)
    throw new InvalidArgumentError('It is a whole number from 1 on.')
  return count
}

/** Adds to the values that an option was given before. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}
