import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse as parseToml } from 'smol-toml'
import { messageOf, ValidationError } from '../base.ts'
import { parseJson } from './python/json.ts'
import type { Value } from './python/value.ts'

/** Where the data of tau2's domains is looked for. */
export interface DataOptions {
  /** The `data` directory of a checkout of tau2-bench; `CORRAL_TAU2_DATA` if absent. */
  readonly directory?: string | undefined
  /** Variables to look in; the process's own if absent. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** The files of one domain; each that is read enters the manifest. */
export interface DataFiles {
  text(name: string): Promise<string>
  /** JSON or TOML, by the name's ending. */
  value(name: string): Promise<Value>
  /** SHA-256 of what has been read, by the path within the data directory. */
  manifest(): Readonly<Record<string, string>>
}

/** What ships with the package: the mock domain alone, laid out as in a checkout. */
const shipped = fileURLToPath(new URL('../../../data', import.meta.url))

/**
 * Finds the files of a domain.
 *
 * @throws ValidationError saying where the data is to be had, if it is not there.
 */
export function openData(domain: string, options: DataOptions = {}): DataFiles {
  const root = rootOf(domain, options)
  const hashes: Record<string, string> = {}
  const folder = `tau2/domains/${domain}`
  const text = async (name: string): Promise<string> => {
    const path = join(root, folder, name)
    const bytes = await readFile(path).catch((error) => {
      throw new ValidationError(`Cannot read ${path}: ${messageOf(error)}`, { cause: error })
    })
    hashes[`${folder}/${name}`] = createHash('sha256').update(bytes).digest('hex')
    return bytes.toString('utf8')
  }
  return {
    text,
    value: async (name) => parse(name, await text(name)),
    manifest: () => ({ ...hashes }),
  }
}

function rootOf(domain: string, { directory, environment = process.env }: DataOptions): string {
  const given = directory ?? environment.CORRAL_TAU2_DATA
  const root = given === undefined || given === '' ? shipped : resolve(given)
  if (existsSync(join(root, 'tau2', 'domains', domain))) return root
  if (root !== shipped)
    throw new ValidationError(
      `${root} has no tau2/domains/${domain}: it must be the "data" directory of a tau2-bench checkout`,
    )
  throw new ValidationError(
    `The data of tau2's ${domain} does not ship with Corral: give the "data" directory of a tau2-bench checkout with --tau2-data DIR or CORRAL_TAU2_DATA`,
  )
}

function parse(name: string, text: string): Value {
  try {
    if (extname(name) !== '.toml') return parseJson(text)
    // A whole number as bigint is an int here; dates are written as strings in tau2's files.
    return fromToml(parseToml(text, { integersAsBigInt: true }))
  } catch (error) {
    throw new ValidationError(`${name}: ${messageOf(error)}`, { cause: error })
  }
}

function fromToml(value: unknown): Value {
  if (Array.isArray(value)) return value.map(fromToml)
  if (value instanceof Date) return value.toISOString().replace(/T00:00:00\.000Z$/, '')
  if (typeof value === 'object' && value !== null)
    return new Map(Object.entries(value).map(([key, item]) => [key, fromToml(item)]))
  if (typeof value === 'string' || typeof value === 'boolean') return value
  return typeof value === 'bigint' || typeof value === 'number' ? value : null
}
