import { readFile } from 'node:fs/promises'
import { CliError } from './errors.ts'

/** A secret of the command line. It need not stand there, where others can read it: `env:NAME`, `file:PATH`. */
export async function readSecret(given: string | undefined): Promise<string | undefined> {
  if (given?.startsWith('file:')) return (await readFile(given.slice(5), 'utf8')).trim()
  if (!given?.startsWith('env:')) return given
  const name = given.slice(4)
  const value = Object.hasOwn(process.env, name) ? process.env[name] : undefined
  if (value) return value
  throw new CliError(`The variable ${name} is not set`)
}
