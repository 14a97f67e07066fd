import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import * as nodeModule from 'node:module'
import { extname, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { JsonObject } from '../protocol/types.ts'
import { type Fields, isFields } from '../shared/json.ts'
import { readUrl } from '../shared/text.ts'
import type { Agent, AgentInfo } from './agent.ts'
import {
  type AgentConfig,
  ConfigConversionError,
  type ToolModuleConfig,
  toConfiguredInfo,
} from './config.ts'
import { checkText, invalidValue } from './config-checks.ts'
import {
  type AgentFunction,
  defineAgent,
  fromRunnable,
  givingData,
  hasMethod,
  isAgent,
  type Runnable,
} from './function.ts'
import { defineTool, requireApproval, type Tool, type ToolDefinition } from './tools.ts'
import { wrapAgent } from './wrap.ts'

const noDefault =
  'it has no default export, so no agent and no function; write: export default (message) => "an answer"'

const noAgent = 'its default export is no agent and no function'

/**
 * Loads an agent from a file. The endpoint names the file, relative to `directory`; its default export is an agent, a
 * function `(message, turn)` that answers, or an object with `run(text)`. A second export, `resumable = true`, says
 * that its turns may run again after a crash. A changed file is loaded anew.
 *
 * @throws ConfigConversionError that names the file as the configuration does, never where it lies.
 */
export async function loadModuleAgent(
  config: AgentConfig,
  directory: string,
  state?: string,
): Promise<Agent> {
  if (config.protocol !== 'module')
    throw new ConfigConversionError({
      variant: 'WrongProtocol',
      expected: 'Module',
      found: config.protocol,
    })
  checkText('endpoint', config.endpoint)
  const named = { file: config.endpoint, field: 'endpoint' }
  const exports = await loadModule(named, { directory, state })
  const { default: found, resumable } = exports
  if (isAgent(found)) return withLocalInfo(found, config)
  const { capabilities: abilities, ...local } = toConfiguredInfo(config)
  const description = { ...local, abilities, resumable: resumable === true }
  if (typeof found === 'function') {
    const answer = found as AgentFunction // called as the contract says
    return defineAgent(description, config.outputSchema ? givingData(answer, isData) : answer)
  }
  if (hasMethod(found, 'run')) return fromRunnable(found as Runnable, description) // it has just been looked at
  throw invalidValue('endpoint', config.endpoint, found === undefined ? noDefault : noAgent)
}

/** The agent under the configuration's names. */
function withLocalInfo(agent: Agent, config: AgentConfig): Agent {
  const { capabilities, ...local } = toConfiguredInfo(config)
  const overlay = async (): Promise<AgentInfo> => {
    const info = await agent.info()
    return {
      ...info,
      ...local,
      capabilities: capabilities.length > 0 ? capabilities : info.capabilities,
      metadata: { ...info.metadata, ...local.metadata },
    }
  }
  return wrapAgent(agent, { info: overlay })
}

/** Whether a function whose answers fit a schema gave the data itself: no text, no message and no task. */
function isData(given: unknown): boolean {
  if (typeof given === 'object' && given !== null) return !('parts' in given || 'task' in given)
  return given !== undefined && typeof given !== 'string'
}

/**
 * Loads the tools of files: each exports a tool, a list of tools, or several under names; what else it exports is left
 * alone. A tool is what `defineTool` makes, or takes.
 *
 * @throws ConfigConversionError that names the file, the tool or the name for approval that is wrong.
 */
export async function loadToolModules(
  modules: readonly ToolModuleConfig[],
  place: ModulePlace,
): Promise<readonly Tool[]> {
  const owners = new Map<string, string>()
  const lists: Tool[] = []
  for (const [index, config] of modules.entries()) {
    const field = `tools.${index}.module`
    const tools = await loadTools(config, field, place)
    for (const { name } of tools) {
      const owner = owners.get(name)
      const where = owner === config.module ? 'it' : owner
      if (owner !== undefined)
        throw invalidValue(field, config.module, `${where} has a tool named ${name} already`)
      owners.set(name, config.module)
    }
    lists.push(...withApproval(tools, config, `tools.${index}.approval`))
  }
  return lists
}

const noTool =
  'it exports no tool; write: export default defineTool({ name, description, input, execute })'

async function loadTools(
  { module }: ToolModuleConfig,
  field: string,
  place: ModulePlace,
): Promise<readonly Tool[]> {
  const exports = await loadModule({ file: module, field }, place)
  const found = new Set(Object.values(exports).flat().filter(isMeant))
  if (found.size === 0) throw invalidValue(field, module, noTool)
  return [...found].map((value) => {
    try {
      return toTool(value)
    } catch (thrown) {
      // The author of the file wrote this message, and reads it.
      throw invalidValue(field, module, thrown instanceof Error ? thrown.message : 'it failed')
    }
  })
}

/** Whether a file means a value to be a tool. */
function isMeant(value: unknown): value is Fields {
  return isFields(value) && hasMethod(value, 'execute')
}

function toTool(value: Fields): Tool {
  const { name, description, parameters, input } = value
  if (typeof name !== 'string') throw new TypeError('one of its tools has no name')
  if (typeof description !== 'string') throw new TypeError(`its tool ${name} has no description`)
  if (input === undefined && !isFields(parameters))
    throw new TypeError(`its tool ${name} has no input: write the schema of its arguments`)
  const written: object = value
  return defineTool(written as Tool & ToolDefinition<JsonObject>) // its members have just been looked at
}

function withApproval(
  tools: readonly Tool[],
  { module, approval }: ToolModuleConfig,
  field: string,
): readonly Tool[] {
  const required = requireApproval(tools, approval)
  if (required.unknown === undefined) return required.tools
  const names = tools.map(({ name }) => name).join(', ')
  const reason = `is not a tool of ${module}; its tools: ${names}`
  const place = Array.isArray(approval) ? `.${approval.indexOf(required.unknown)}` : ''
  throw invalidValue(`${field}${place}`, required.unknown, reason)
}

/** A file of code that a configuration names. */
interface NamedModule {
  /** As the configuration writes it. */
  readonly file: string
  /** Where the configuration writes it. */
  readonly field: string
}

/** Where such files are, and in which state they are to be loaded. */
interface ModulePlace {
  /** What the files are relative to: the directory of the configuration. */
  readonly directory: string
  /** The state of the files (see readModuleFiles), where they are to be loaded anew with all that they import. */
  readonly state?: string | undefined
}

/**
 * What a file of code exports. A changed file is loaded anew; where the place names a state, what it imports is too.
 *
 * @throws ConfigConversionError that names the file as the configuration does, never where it lies.
 */
export async function loadModule(
  { file: name, field }: NamedModule,
  { directory, state }: ModulePlace,
): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(directory, name)
  const file = await stat(path, { bigint: true }).catch(() => undefined)
  if (!file?.isFile()) throw invalidValue(field, name, 'there is no such file')
  const url = pathToFileURL(path)
  // The module cache goes by URL: the time of the last change makes a changed file another module. It is a whole number,
  // as loaders look for a file's ending behind the last dot.
  if (state === undefined) url.searchParams.set('changed', String(file.mtimeNs))
  else url.searchParams.set(stateParameter, state)
  try {
    return await import(url.href)
  } catch (cause) {
    const reason = `cannot be loaded: ${await describeModuleFault(cause, path, directory)}`
    throw new ConfigConversionError(
      { variant: 'InvalidValue', field, value: name, reason },
      { cause },
    )
  }
}

/** Where in a file something is wrong. */
interface SourcePlace {
  readonly file: string
  /** From 1, as the column. */
  readonly line: number
  readonly column: number
}

/** How esbuild, which tsx builds with, says what is wrong. */
const builderFault = /^(.{1,1000}):(\d{1,9}):(\d{1,9}): ERROR: (.*)$/m

/**
 * Why a module cannot be loaded, for the person who wrote it: `agent.mjs:4:13: Unexpected token '*'`. Files are named as
 * seen from `directory`, never by where they lie.
 */
async function describeModuleFault(
  thrown: unknown,
  path: string,
  directory: string,
): Promise<string> {
  if (!(thrown instanceof Error)) return 'it failed'
  const files = [...readModuleFiles([path]).keys()]
  const built = builderFault.exec(thrown.message)
  const [, file = '', line, column, reason] = built ?? []
  const place = built
    ? { file, line: Number(line), column: Number(column) + 1 } // builders count columns from 0
    : (placeInStack(thrown, files) ?? (await placeInSource(thrown, files)))
  const at = place ? `${relative(directory, place.file)}:${place.line}:${place.column}: ` : ''
  return `${at}${withoutPaths(reason ?? thrown.message, directory)}${adviceFor(thrown)}`
}

/** Node shows the line and points at the column, or lists the calls that led there. */
function placeInStack({ stack = '' }: Error, files: readonly string[]): SourcePlace | undefined {
  const [head = '', ...lines] = stack.split('\n')
  const shown = /^(.+):(\d{1,9})$/.exec(head)
  const first = shown && fileOf(shown[1] ?? '')
  if (first && files.includes(first))
    return { file: first, line: Number(shown[2]), column: pointedAt(lines) }
  for (const line of lines) {
    const call = /^ {4}at (?:.*\()?(.+):(\d{1,9}):(\d{1,9})\)?$/.exec(line)
    const file = call && fileOf(call[1] ?? '')
    if (file && files.includes(file))
      return { file, line: Number(call[2]), column: Number(call[3]) }
  }
  return undefined
}

/** The column that `^` stands under, after the line itself. */
function pointedAt(lines: readonly string[]): number {
  const pointer = lines.slice(0, 6).find((line) => /^\s*\^+$/.test(line))
  return 1 + (pointer?.indexOf('^') ?? 0)
}

/** The path of a file as Node names it in a stack. */
function fileOf(name: string): string | undefined {
  if (!name.startsWith('file:')) return name
  const url = readUrl(name)
  return url && fileURLToPath(url)
}

/** Each costs the start of a process. */
const maxChecked = 50

/** Of a module that cannot be parsed Node tells no place, but it does to one who only checks the source. */
async function placeInSource(
  fault: Error,
  files: readonly string[],
): Promise<SourcePlace | undefined> {
  if (!(fault instanceof SyntaxError)) return undefined
  for (const file of files.slice(0, maxChecked)) {
    const [head = '', ...lines] = (await checkSource(file)).split('\n')
    const line = /^\[stdin\]:(\d{1,9})$/.exec(head)?.[1]
    if (line && lines.includes(`SyntaxError: ${fault.message}`))
      return { file, line: Number(line), column: pointedAt(lines) }
  }
  return undefined
}

function checkSource(file: string): Promise<string> {
  return new Promise((resolve) => {
    const check = ['--check', '--input-type=module', '-']
    const env = { ...process.env, NODE_OPTIONS: '' }
    const child = execFile(process.execPath, check, { env }, (_failed, _out, errors) =>
      resolve(errors),
    )
    child.stdin?.on('error', () => {}) // one that ends early has said why
    child.stdin?.end(textOf(file)) // one that is not there is no fault of syntax
  })
}

/** Node's messages name files by their full path. */
function withoutPaths(words: string, directory: string): string {
  return words
    .replaceAll(pathToFileURL(directory).href, '.')
    .replaceAll(directory, '.')
    .replace(/\?(?:changed|corral-state)=[\w.]+/g, '')
}

function adviceFor(thrown: Error): string {
  const code = 'code' in thrown ? thrown.code : undefined
  const start = 'start with NODE_OPTIONS="--import tsx" (after npm install tsx)'
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') return `; leave it out, or ${start}`
  if (code === 'ERR_MODULE_NOT_FOUND') {
    const [, name] = /Cannot find package '([^']+)'/.exec(thrown.message) ?? []
    return `: ${name ? `install it with npm install ${name}` : 'is the path right, with its extension?'}`
  }
  const isTyped = code === 'ERR_UNKNOWN_FILE_EXTENSION' && /"\.[cm]?tsx?"/.test(thrown.message)
  if (!isTyped) return ''
  const compile = 'compile it and name the .js file'
  return `; Node ${process.version} does not run TypeScript: use Node 22.18 or newer, ${start}, or ${compile}`
}

/** More than any agent is made of; what is beyond is not followed. */
const maxFiles = 5_000

/**
 * The files that modules are made of, each with a stamp that is another one when the file has changed: the modules, what
 * they import by relative paths, and what that imports. One that is not there is among them, since it may come. Packages
 * are left out.
 */
export function readModuleFiles(modules: readonly string[]): ReadonlyMap<string, string> {
  const files = new Set(modules)
  for (const file of files)
    for (const imported of importsOf(file)) if (files.size < maxFiles) files.add(imported)
  return new Map(
    [...files].map((file) => {
      const found = statSync(file, { throwIfNoEntry: false })
      return [file, `${found?.mtimeMs}:${found?.size}`]
    }),
  )
}

/**
 * A digest of what modules are made of: of the bytes of the same files as `readModuleFiles` finds, wherever they lie, so
 * that it is the same on every machine that has the same files.
 */
export function digestModules(modules: readonly string[], directory: string): string {
  const hash = createHash('sha256')
  const paths = modules.map((file) => resolve(directory, file))
  for (const file of readModuleFiles(paths).keys()) hash.update(`${textOf(file)}\0`)
  return hash.digest('hex').slice(0, 16)
}

const code = /\.[cm]?[jt]sx?$/

const relativeImport =
  /\b(?:from|import|require)\b\s{0,80}\(?\s{0,80}(["'`])(\.{1,2}\/[^"'`\n]{1,500})\1/g

function importsOf(file: string): readonly string[] {
  if (!code.test(file) || file.includes('/node_modules/')) return []
  const matches = textOf(file).matchAll(relativeImport)
  return [...matches].flatMap(([, , specifier = '']) => {
    const url = new URL(specifier, pathToFileURL(file))
    // An encoded slash or a foreign host is an import that fails anyway.
    return /%2f|%5c/i.test(url.pathname) ? [] : [sourceOf(fileURLToPath(url))]
  })
}

/** A file that cannot be read is empty: it imports nothing. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

const endings = ['.ts', '.tsx', '.mts', '.js', '.mjs', '.json']

const typed: ReadonlyMap<string, readonly string[]> = new Map([
  ['.js', ['.ts', '.tsx']],
  ['.jsx', ['.tsx']],
  ['.mjs', ['.mts']],
  ['.cjs', ['.cts']],
])

/** What is imported as `./x.js`, or as `./x`, may be TypeScript; loaders such as tsx find it. */
function sourceOf(path: string): string {
  const extension = extname(path)
  const stem = path.slice(0, path.length - extension.length)
  const named = typed.get(extension) ?? []
  const candidates = [
    path,
    ...named.map((other) => `${stem}${other}`),
    ...endings.flatMap((ending) => [`${path}${ending}`, `${path}/index${ending}`]),
  ]
  return candidates.find(isFile) ?? path
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

/**
 * Loads modules anew. Node keeps every module for good under its URL, so a module whose URL names a state of its files is
 * another module, and what it imports by a relative path is to have the same state in its URL: a hook sees to that. It is
 * not installed before something is to be renewed.
 */
export function createFreshModules(): {
  /** From here on, modules that are loaded by a URL with a state that is new get these files as they are now. */
  renew(files: Iterable<string>): void
  /** Ends it; what is loaded stays. May be called twice. */
  close(): void
} {
  let uninstall: (() => void) | undefined
  return {
    renew(files) {
      uninstall ??= install()
      const { cache } = nodeModule.createRequire(import.meta.url)
      // CommonJS and JSON are kept under the name of the file.
      for (const file of files) delete cache[file]
    },
    close() {
      uninstall?.()
      uninstall = undefined
    },
  }
}

/** The parameter of a module's URL that names the state of its files. */
const stateParameter = 'corral-state'

/** A hook of Node's for the address of an import. */
type ResolveHook = <Context extends { readonly parentURL?: string | undefined }>(
  specifier: string,
  context: Context,
  next: (specifier: string, context: Context) => { readonly url: string },
) => { readonly url: string }

function install(): () => void {
  // What newer versions of Node have; hooks of the older kind run in a thread and are a module.
  const registerHooks:
    | ((hooks: { readonly resolve: ResolveHook }) => { deregister(): void })
    | undefined = Reflect.get(nodeModule, 'registerHooks')
  if (registerHooks) {
    const hooks = registerHooks({ resolve: resolveState })
    return () => hooks.deregister()
  }
  nodeModule.register(`data:text/javascript,${encodeURIComponent(threadHook)}`)
  return () => {} // the older kind stays, and does nothing to modules without a state
}

const resolveState: ResolveHook = (specifier, context, next) => {
  const found = next(specifier, context)
  const state = stateOf(context.parentURL)
  if (state === null || !specifier.startsWith('.')) return found
  const url = new URL(found.url)
  url.searchParams.set(stateParameter, state)
  return { ...found, url: url.href }
}

function stateOf(url: string | undefined): string | null {
  return readUrl(url ?? '')?.searchParams.get(stateParameter) ?? null
}

/** The same as a text, since the thread of the older hooks has nothing of ours. */
const threadHook = `function stateOf(url) {
  try {
    return new URL(url).searchParams.get('${stateParameter}')
  } catch {
    return null
  }
}
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context)
  const state = stateOf(context.parentURL)
  if (state === null || !specifier.startsWith('.')) return found
  const url = new URL(found.url)
  url.searchParams.set('${stateParameter}', state)
  return { ...found, url: url.href }
}`
