import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { type Command, InvalidArgumentError } from 'commander'
import type { ConfigVariables as Environment } from '../app/config/values.ts'
import { toShownStore } from '../store/postgres/connection.ts'
import { type Config, loadConfig } from '../team/index.ts'
import { CliError, ownName } from './errors.ts'

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

/** Ten years: a longer time is a slip of the finger. */
const maxSeconds = 10 * 366 * 86_400

/** How long something may take, in seconds, from the command line. */
export function toSeconds(text: string): number {
  const seconds = text.trim() === '' ? Number.NaN : Number(text)
  if (!(seconds > 0 && seconds <= maxSeconds))
    throw new InvalidArgumentError('It is a number of seconds above 0, and ten years at most.')
  return seconds
}

/** Adds to the values that an option was given before. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

/** What an option that names a file of variables says of itself. */
export const variablesHelp = 'take further variables from a file such as .env, where it is there'

/** The variables that a configuration may name: the process's own, then those of a file, if there is one. */
export async function readVariables(path: string | undefined): Promise<Environment> {
  if (path === undefined) return process.env
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return { ...parseEnv(text), ...process.env }
}

/** A secret of the command line. It need not stand there, where others can read it: `env:NAME`, `file:PATH`. */
export async function readSecret(given: string | undefined): Promise<string | undefined> {
  if (given?.startsWith('file:')) return (await readFile(given.slice(5), 'utf8')).trim()
  if (!given?.startsWith('env:')) return given
  const name = given.slice(4)
  const value = Object.hasOwn(process.env, name) ? process.env[name] : undefined
  if (value) return value
  throw new CliError(`The variable ${name} is not set`)
}

/** What `--schema` is, for the help of commands that take a store. */
export const schemaHelp: string = 'the schema of a PostgreSQL database (default: corral)'

/** The store's own part of a command's flags. */
export function schemaOf({ schema }: { readonly schema?: string }): { readonly schema?: string } {
  return schema === undefined ? {} : { schema }
}

/** Refuses to copy a database file by file, and says what does it. */
export function mustDumpInstead(url: string, target: string): never {
  throw new CliError(`${toShownStore(url)} is a PostgreSQL database, which has a tool of its own`, {
    hint: `pg_dump --format=custom --schema=corral --file=${target} "$DATABASE_URL"; pg_restore brings it back.`,
  })
}

/**
 * Reads the file that a command is given.
 * @throws CliError where there is none; ConfigError with every problem of the file.
 */
export async function readConfig(path: string, variables: Environment): Promise<Config> {
  const file = await stat(path).catch(() => undefined)
  if (!file) throw new CliError(`There is no file ${path}`, { hint: await meantFile(path) })
  if (file.isDirectory())
    throw new CliError(`${path} is a directory`, { hint: await fileWithin(path) })
  return loadConfig(path, variables)
}

async function meantFile(path: string): Promise<string> {
  const others = await tomlFiles(dirname(path))
  const near = others.map((name) => join(dirname(path), name)).join(', ')
  if (near) return `There is ${near}`
  const { length } = extname(basename(path))
  const directory = length > 0 ? dirname(path) : path
  return `"${ownName()} init${directory === '.' ? '' : ` ${directory}`}" writes one to begin with.`
}

async function fileWithin(directory: string): Promise<string> {
  const [first] = await tomlFiles(directory)
  if (first) return `Name the file in it: ${join(directory, first)}`
  return `Name a file; "${ownName()} init ${directory}" writes one to begin with.`
}

async function tomlFiles(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch(() => [])
  return names.filter((name) => extname(name) === '.toml').slice(0, 5)
}
