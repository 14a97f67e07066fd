/**
 * What of `dist` is for users. The compiler leaves behind what it made of files that are gone, declares the types of every
 * file, though users can only name those that an entrance leads to, and repeats in the code the comments of the source,
 * which are for those who change it. What users read stands in the declarations.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { parseSync } from 'rolldown/utils'

/** The page is made anew every time, and not of one file each. */
const page = join('console', 'page')

/** Takes away what was compiled from files that are gone; gives their paths within `dist`. */
export function removeStale(root: string): readonly string[] {
  const stale = filesOf(root).filter((file) => !existsSync(join(root, 'src', sourceOf(file))))
  for (const file of stale) rmSync(join(root, 'dist', file))
  return stale
}

/** Leaves the declarations that no entrance leads to out of the package; gives their paths within `dist`. */
export function ignoreUnreached(root: string): readonly string[] {
  const reached = reachedFrom(entrancesOf(root))
  const unreached = filesOf(root)
    .filter((file) => isDeclaration(file) && !reached.has(join(root, 'dist', file)))
    .map((file) => file.split(sep).join('/'))
    .sort()
  const lines = ['.tsbuildinfo', ...unreached].map((file) => `/${file}\n`)
  writeFileSync(join(root, 'dist/.npmignore'), lines.join(''))
  return unreached
}

/** Takes the comments out of the code, but for those that tools or licences ask for. */
export function stripComments(root: string): void {
  for (const file of filesOf(root)) {
    if (isDeclaration(file)) continue
    const path = join(root, 'dist', file)
    const text = readFileSync(path, 'utf8')
    const stripped = withoutComments(file, text)
    if (stripped !== text) writeFileSync(path, stripped)
  }
}

function withoutComments(file: string, text: string): string {
  let stripped = ''
  let from = 0
  for (const { value, start, end } of parseSync(file, text).comments) {
    if (text.startsWith('#!', start)) continue // names the program that runs the file
    if (/^[!@#]|@license|@preserve|@vite-ignore|webpack/.test(value)) continue
    const line = text.lastIndexOf('\n', start - 1) + 1
    const next = text.indexOf('\n', end) + 1 || text.length
    const endsLine = text.slice(end, next).trim() === ''
    const isAlone = endsLine && text.slice(line, start).trim() === ''
    stripped += isAlone ? text.slice(from, line) : text.slice(from, start)
    if (endsLine) stripped = isAlone ? stripped : stripped.trimEnd()
    // What ended a line within goes on ending it: the language cares.
    else if (value.includes('\n')) stripped += '\n'
    from = isAlone ? next : end
  }
  return stripped + text.slice(from)
}

/** What the compiler has written. */
function filesOf(root: string): readonly string[] {
  const dist = join(root, 'dist')
  return readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?[jt]s$/.test(entry.name))
    .map((entry) => relative(dist, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith(page + sep))
}

function sourceOf(file: string): string {
  return file.replace(/(?:\.d)?\.([cm]?)[jt]s$/, '.$1ts')
}

function isDeclaration(file: string): boolean {
  return /\.d\.[cm]?ts$/.test(file)
}

function entrancesOf(root: string): readonly string[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return Object.values(exports).flatMap((target) =>
    typeof target === 'object' && target !== null && 'types' in target
      ? [resolve(root, String(target.types))]
      : [],
  )
}

/** The declarations that others name, by `from '…'` or `import('…')`. */
function reachedFrom(entrances: readonly string[]): ReadonlySet<string> {
  const reached = new Set<string>()
  const open = [...entrances]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    const text = readFileSync(file, 'utf8')
    for (const [, path = ''] of text.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g))
      open.push(resolve(dirname(file), path.replace(/(?:\.d)?\.([cm]?)[jt]s$/, '.d.$1ts')))
  }
  return reached
}
