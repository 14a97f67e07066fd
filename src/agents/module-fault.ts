import { execFile } from 'node:child_process'
import { relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** Why a module could not be loaded, in words for its author: where, what, and what to do. */
export async function describeModuleFault(
  cause: unknown,
  path: string,
  directory: string,
): Promise<string> {
  if (!(cause instanceof Error)) return `it throws ${typeof cause}`
  const code = 'code' in cause ? String(cause.code) : ''
  const words = withoutPaths(cause.message, directory)
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[mc]?ts$/.test(path))
    return `${words}; Node ${process.version} does not run TypeScript: use Node 22.18 or newer, or compile it and name the .js file`
  if (code === 'ERR_MODULE_NOT_FOUND') return `${words}: ${whatIsMissing(words)}`
  const place = placeIn(cause.stack ?? '') ?? (await placeOfSyntaxError(cause, path))
  return place ? `${relative(directory, place.file)}:${place.at}: ${words}` : words
}

function whatIsMissing(words: string): string {
  const [, name] = /Cannot find package '([^']+)'/.exec(words) ?? []
  return name ? `install it with npm install ${name}` : 'is the path right, with its extension?'
}

interface Place {
  readonly file: string
  /** Line and column. */
  readonly at: string
}

/**
 * The place that a stack names first: that of an error while the module ran, or of an import of what is not exported,
 * above which stand the line and a mark below it.
 */
function placeIn(stack: string): Place | undefined {
  const [, marked = '', line, mark] = /^(file:\S+):(\d+)\n.*\n([ \t]*)\^/.exec(stack) ?? []
  if (line !== undefined && mark !== undefined)
    return { file: toPath(marked), at: `${line}:${mark.length + 1}` }
  const [, file = '', at] = /\bat (?:.{0,200}\()?(file:[^\s()]+?):(\d+:\d+)/.exec(stack) ?? []
  return at === undefined || file.includes('/node_modules/')
    ? undefined
    : { file: toPath(file), at }
}

/**
 * Where a text that does not parse breaks off. The error itself does not say; Node does, where nobody catches it. Nothing
 * of the module runs there either, since it does not parse.
 */
async function placeOfSyntaxError(error: Error, path: string): Promise<Place | undefined> {
  if (error.name !== 'SyntaxError') return undefined
  const args = [...process.execArgv, '--input-type=module', '--eval']
  const script = `import ${JSON.stringify(pathToFileURL(path).href)}`
  const stderr = await new Promise<string>((resolve) => {
    const options = { timeout: 10_000, maxBuffer: 1 << 20 }
    execFile(process.execPath, [...args, script], options, (_error, _out, said) => resolve(said))
  })
  return placeIn(stderr)
}

function toPath(url: string): string {
  return fileURLToPath(url.replace(/\?.*/, ''))
}

/** Node's messages name files by their full path. */
function withoutPaths(words: string, directory: string): string {
  return words
    .replaceAll(pathToFileURL(directory).href, '.')
    .replaceAll(directory, '.')
    .replace(/\?changed=[\d.]+/g, '')
}
