/**
 * A copy of the compiled package that reports every function as it is entered. V8's coverage says which functions ran and
 * how often, but not in which order; the order shows how often a reader changes files.
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { type ESTree, parseSync, Visitor } from 'rolldown/utils'

/** The global function that instrumented code calls with its file; a thread or process without it records nothing. */
const recorderName = 'corralWalk'

/** What the package reads beside `dist`, by the path from there. */
const surroundings = ['package.json', 'data', 'schema', 'examples']

/** Bundled for browsers: nothing of it runs here. */
const bundled = /^console\/page\//

/**
 * Copies `dist` with instrumented modules into a new folder below `node_modules`, where the package's dependencies are
 * found; gives the folder that holds the copy of `dist`.
 */
export function instrumentPackage(root: string): string {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const copy = mkdtempSync(join(cache, 'corral-walks-'))
  for (const name of surroundings) symlinkSync(join(root, name), join(copy, name))
  const dist = join(root, 'dist')
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || /\.d\.ts$|^\./.test(entry.name)) continue
    const file = join(entry.parentPath, entry.name)
    const path = relative(dist, file).replaceAll(sep, '/')
    const target = join(copy, 'dist', path)
    mkdirSync(dirname(target), { recursive: true })
    if (path.endsWith('.js') && !bundled.test(path))
      writeFileSync(target, instrument(readFileSync(file, 'utf8'), path))
    else cpSync(file, target)
  }
  return copy
}

/**
 * Adds a call of the recorder to the start of every function, methods, accessors, constructors and generators included. A
 * generator is entered when its first value is asked for. A class without a constructor is entered by its first field. The
 * module itself does not count.
 */
export function instrument(code: string, path: string): string {
  const { program, errors } = parseSync(path, code)
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`)
  const call = `globalThis.${recorderName}?.(${JSON.stringify(path)})`
  const inserts: (readonly [at: number, text: string])[] = []
  const enter = ({ body }: { readonly body: ESTree.Node | null }): void => {
    if (!body) return
    if (body.type === 'BlockStatement') inserts.push([body.start + 1, `${call};`])
    else inserts.push([body.start, `(${call},`], [body.end, ')'])
  }
  new Visitor({
    FunctionDeclaration: enter,
    FunctionExpression: enter,
    ArrowFunctionExpression: enter,
    ClassBody: ({ body }) => {
      if (body.some((one) => one.type === 'MethodDefinition' && one.kind === 'constructor')) return
      const field = body.find(isPlainField)
      if (!field) return
      if (field.value) inserts.push([field.value.start, `(${call},`], [field.value.end, ')'])
      else inserts.push([field.key.end, ` = (${call}, undefined)`])
    },
  }).visit(program)
  let done = 0
  let text = ''
  for (const [at, added] of inserts.sort(([a], [b]) => a - b)) {
    text += code.slice(done, at) + added
    done = at
  }
  return text + code.slice(done)
}

function isPlainField(member: ESTree.ClassElement): member is ESTree.PropertyDefinition {
  return member.type === 'PropertyDefinition' && !member.static && !member.computed
}

/** How a reader moves through the files of a walk. */
export interface WalkNumbers {
  readonly files: number
  /** Functions entered. */
  readonly calls: number
  /** Calls into another file than that of the call before. */
  readonly hops: number
  /** Hops to a file that was left before. */
  readonly returns: number
}

/**
 * Does the work, and gives the file of each function that is entered meanwhile, in order. Where the work gives a list, that
 * is what another process entered, and follows.
 */
export async function record(work: () => Promise<unknown>): Promise<readonly string[]> {
  const entered: string[] = []
  Reflect.set(globalThis, recorderName, (file: string) => void entered.push(file))
  try {
    const others = await work()
    return Array.isArray(others) ? [...entered, ...others] : entered
  } finally {
    Reflect.deleteProperty(globalThis, recorderName)
  }
}

/** Counts what was recorded. */
export function numbersOf(entered: readonly string[]): WalkNumbers {
  const files = new Set(entered).size
  const hops = entered.filter((file, at) => at > 0 && file !== entered[at - 1]).length
  return { files, calls: entered.length, hops, returns: hops - Math.max(0, files - 1) }
}
