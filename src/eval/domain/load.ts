/**
 * A domain in plain files: a directory with `domain.json` or `domain.toml`, which names the others by relative path.
 *
 *     { "name": "library",
 *       "policy": "policy.md",            the rules, sent to the agent
 *       "tasks": "tasks.json",            tau2's format, with `user_script` for the scripted user
 *       "splits": "split_tasks.json",     optional: {"name": ["task id", …]}
 *       "state": "state.json",            the world at the beginning (JSON or TOML), for a module
 *       "user_state": "user.json",        optional: the user's half of it
 *       "tools": "tools.mjs" }            a module that exports `tools`, and may export `userTools`, `functions`, `sync`
 *
 * Instead of a module, `"tools": {"mcp": {"command": "node", "args": ["server.mjs"], "state": "state://all"}}` takes
 * the tools of an MCP server; its `cwd` is the domain's directory unless it says otherwise.
 */

import { readFile } from 'node:fs/promises'
import { extname, isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse as parseToml } from 'smol-toml'
import { z } from 'zod'
import { checkArgument } from '../../shared/options.ts'
import { messageOf, parseWith, ValidationError } from '../base.ts'
import type { RecordedResults } from '../results/results.ts'
import type { DataOptions } from '../tau2/data.ts'
import type { Domain } from './domain.ts'
import { defineDomain, defineMcpDomain, type ToolModule } from './functions.ts'
import { kestrel } from './kestrel.ts'
import { parseTasks, presentName } from './replay.ts'

/** The domains that need no files, by name. */
export const builtInDomains: Readonly<Record<string, Domain>> = { kestrel }

/**
 * Finds the domain of recorded results: the one that is named, else the one that they were made in.
 *
 * @throws ValidationError where results of tau2 are to be scored by a built-in domain.
 */
export function findDomainOf(
  recorded: RecordedResults,
  named: string | undefined,
  tau2?: DataOptions,
): Promise<Domain> {
  if (recorded.own) return findDomain(named ?? recorded.domain, tau2)
  if (named === undefined) return findDomain(`tau2:${recorded.domain}`, tau2)
  if (Object.hasOwn(builtInDomains, presentName(named)))
    throw new ValidationError(
      `These results are not of our ${presentName(named)}: score them by tau2:${recorded.domain}, or by a domain of your own`,
    )
  return findDomain(named, tau2)
}

/**
 * Finds a domain: `tau2:retail` and the others of tau2, a built-in one by its name, or one in files by its directory.
 */
export async function findDomain(name: string, tau2?: DataOptions): Promise<Domain> {
  checkArgument('findDomain', 'the name', name, 'string')
  if (!name.startsWith('tau2:')) return resolveDomain(name)
  const { loadTau2Domain } = await import('../tau2/domain.ts')
  return loadTau2Domain(name, tau2)
}

/** Finds a built-in domain by its name, or one in files by its directory. */
export async function resolveDomain(nameOrPath: string): Promise<Domain> {
  const name = presentName(nameOrPath)
  if (Object.hasOwn(builtInDomains, name)) return builtInDomains[name] ?? kestrel
  if (/^[\w-]+$/.test(nameOrPath)) {
    const names = Object.keys(builtInDomains).join(', ')
    throw new ValidationError(
      `There is no domain ${nameOrPath}: built in are ${names}; a domain of your own is given by its path, such as ./${nameOrPath}`,
    )
  }
  return loadDomain(nameOrPath)
}

const mcp = z.strictObject({
  command: z.string().optional(),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
  cwd: z.string().optional(),
  url: z.url().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  state: z.string().optional(),
  reset: z.string().optional(),
  hidden: z.array(z.string()).optional(),
})

const description = z.strictObject({
  name: z.string().regex(/^[\w-]+$/, 'must be letters, digits, dashes'),
  policy: z.string(),
  tasks: z.string(),
  splits: z.string().optional(),
  state: z.string().optional(),
  user_state: z.string().optional(),
  tools: z.union([z.string(), z.strictObject({ mcp })]),
})

/**
 * Loads a domain from its directory. Its tools module is code and runs here: load only what you trust.
 *
 * @throws ValidationError naming the file and what is wrong in it.
 */
export async function loadDomain(directory: string): Promise<Domain> {
  checkArgument('loadDomain', 'the directory', directory, 'string')
  const root = resolve(directory)
  const path = (name: string): string => (isAbsolute(name) ? name : join(root, name))
  const given = parseWith(description, await readDescription(root), 'domain')
  const { name, tools } = given
  const policy = await read(path(given.policy))
  const tasks = parseTasks(await readData(path(given.tasks)))
  const splits = given.splits === undefined ? {} : await readSplits(path(given.splits))
  if (typeof tools !== 'string') {
    const world = { cwd: root, ...tools.mcp }
    return defineMcpDomain({ name, policy, tasks, splits, world })
  }
  const state = given.state === undefined ? {} : await readData(path(given.state))
  const userState = given.user_state === undefined ? null : await readData(path(given.user_state))
  const module = await importTools(path(tools))
  return defineDomain({ name, policy, tasks, splits, state, userState, module })
}

async function readDescription(root: string): Promise<unknown> {
  for (const name of ['domain.json', 'domain.toml']) {
    const text = await readFile(join(root, name), 'utf8').catch(() => undefined)
    if (text !== undefined) return parseText(text, name)
  }
  throw new ValidationError(`${root} has neither domain.json nor domain.toml`)
}

function parseText(text: string, name: string): unknown {
  try {
    return extname(name) === '.toml' ? parseToml(text) : JSON.parse(text)
  } catch (error) {
    throw new ValidationError(`${name}: ${messageOf(error)}`, { cause: error })
  }
}

async function read(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error) => {
    throw new ValidationError(`Cannot read ${path}: ${messageOf(error)}`, { cause: error })
  })
}

async function readData(path: string): Promise<unknown> {
  return parseText(await read(path), path)
}

async function readSplits(path: string): Promise<Record<string, string[]>> {
  return parseWith(z.record(z.string(), z.array(z.string())), await readData(path), 'splits')
}

const tool = z.looseObject({
  description: z.string(),
  parameters: z.record(z.string(), z.json()),
  kind: z.enum(['read', 'write', 'think', 'generic']).optional(),
  run: z.custom<unknown>((value) => typeof value === 'function', 'must be a function'),
})

const toolModule = z.looseObject({
  tools: z.record(z.string(), tool),
  userTools: z.record(z.string(), tool).optional(),
  functions: z
    .record(
      z.string(),
      z.custom((v) => typeof v === 'function'),
    )
    .optional(),
  sync: z.custom((value) => typeof value === 'function').optional(),
})

async function importTools(path: string): Promise<ToolModule> {
  const loaded: unknown = await import(pathToFileURL(path).href).catch((error) => {
    throw new ValidationError(`Cannot load ${path}: ${messageOf(error)}`, { cause: error })
  })
  // The schema checks each tool's words and that what must be callable is.
  return parseWith<unknown>(
    toolModule,
    { ...(loaded as object) }, // a module's namespace is one
    `tools module ${path}`,
  ) as ToolModule
}
