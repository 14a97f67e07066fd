import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { readUrl } from '../shared/url.ts'
import { readModuleFiles } from './module-files.ts'

/** Where in a file something is wrong. */
interface Place {
  readonly file: string
  /** From 1, as the column. */
  readonly line: number
  readonly column: number
}

/**
 * Why a module cannot be loaded, for the person who wrote it: `agent.mjs:4:13: Unexpected token '*'`. Files are named as
 * seen from `directory`, never by where they lie.
 */
export async function describeModuleFault(
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

/** How esbuild, which tsx builds with, says what is wrong. */
const builderFault = /^(.{1,1000}):(\d{1,9}):(\d{1,9}): ERROR: (.*)$/m

/** Node shows the line and points at the column, or lists the calls that led there. */
function placeInStack({ stack = '' }: Error, files: readonly string[]): Place | undefined {
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

/** Of a module that cannot be parsed Node tells no place, but it does to one who only checks the source. */
async function placeInSource(fault: Error, files: readonly string[]): Promise<Place | undefined> {
  if (!(fault instanceof SyntaxError)) return undefined
  for (const file of files.slice(0, maxChecked)) {
    const [head = '', ...lines] = (await checkSource(file)).split('\n')
    const line = /^\[stdin\]:(\d{1,9})$/.exec(head)?.[1]
    if (line && lines.includes(`SyntaxError: ${fault.message}`))
      return { file, line: Number(line), column: pointedAt(lines) }
  }
  return undefined
}

/** Each costs the start of a process. */
const maxChecked = 50

function checkSource(file: string): Promise<string> {
  return new Promise((resolve) => {
    const check = ['--check', '--input-type=module', '-']
    const env = { ...process.env, NODE_OPTIONS: '' }
    const child = execFile(process.execPath, check, { env }, (_failed, _out, errors) =>
      resolve(errors),
    )
    child.stdin?.on('error', () => {}) // one that ends early has said why
    child.stdin?.end(sourceOf(file))
  })
}

function sourceOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // one that is not there is no fault of syntax
  }
}

function adviceFor(thrown: Error): string {
  const code = 'code' in thrown ? thrown.code : undefined
  const start = 'start with NODE_OPTIONS="--import tsx" (after npm install tsx)'
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') return `; leave it out, or ${start}`
  if (code === 'ERR_MODULE_NOT_FOUND') return `: ${whatIsMissing(thrown.message)}`
  const isTyped = code === 'ERR_UNKNOWN_FILE_EXTENSION' && /"\.[cm]?tsx?"/.test(thrown.message)
  if (!isTyped) return ''
  const compile = 'compile it and name the .js file'
  return `; Node ${process.version} does not run TypeScript: use Node 22.18 or newer, ${start}, or ${compile}`
}

function whatIsMissing(words: string): string {
  const [, name] = /Cannot find package '([^']+)'/.exec(words) ?? []
  return name ? `install it with npm install ${name}` : 'is the path right, with its extension?'
}

/** The path of a file as Node names it in a stack. */
function fileOf(name: string): string | undefined {
  if (!name.startsWith('file:')) return name
  const url = readUrl(name)
  return url && fileURLToPath(url)
}

/** Node's messages name files by their full path. */
function withoutPaths(words: string, directory: string): string {
  return words
    .replaceAll(pathToFileURL(directory).href, '.')
    .replaceAll(directory, '.')
    .replace(/\?(?:changed|corral-state)=[\w.]+/g, '')
}
