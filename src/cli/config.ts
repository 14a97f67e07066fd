import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { type Config, type Environment, loadConfig } from '../team/index.ts'
import { CliError } from './errors.ts'
import { ownName } from './hints.ts'

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
