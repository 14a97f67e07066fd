/**
 * The shape of the source tree in numbers that may only fall (`ratchet.ts` compares them). Each measure lists what it
 * counts, so that a person finds the offender when a number rises.
 */
import { posix } from 'node:path'
import type { Facts } from './checks.ts'
import { testOnlyExports } from './exports.ts'
import { functionsOf } from './functions.ts'
import { singleImplementations } from './interfaces.ts'
import { publicSurface } from './public.ts'
import { countLines, folderOf, lineAt, type Source, type Tree } from './tree.ts'

/** One number, and the places that make it up; of a maximum the place of the largest. */
export interface Measure {
  readonly value: number
  readonly items: readonly string[]
  /** A number up to this one is as it should be, and may rise and fall; 0 if absent. */
  readonly goal?: number
}

/** A function of more lines is one that reads in several sittings. */
const functionLines = 60

/** Measures the tree; the keys are the names in `ratchet.json`. */
export function shapeOf(tree: Tree, facts: Facts): Record<string, Measure> {
  const functions = [...tree.values()].flatMap((source) =>
    functionsOf(source).map(
      ({ lines, line, name }): Sized => [lines, `${source.path}:${line}: ${name}`],
    ),
  )
  return {
    oneImporterFiles: count(oneImporterFiles(tree, facts)),
    singleImplementations: count(singleImplementations(tree, facts.page)),
    duplicateTypeNames: count(duplicateTypeNames(tree)),
    bannedWords: count(bannedWords([...tree.values(), ...facts.page.values()])),
    testOnlyExports: count(testOnlyExports(tree, facts.replaced, facts)),
    publicNames: count(publicNames(tree)),
    longestFile: largest(
      [...tree.values()].map(({ path, text }) => [countLines(text), path]),
      600,
    ),
    longestFunction: largest(functions, functionLines),
    longFunctions: count(functions.filter(([lines]) => lines > functionLines).map(toItem)),
    filesInOneDirectory: largest(directories(tree), 14),
  }
}

/** The different names that users can import. */
function publicNames(tree: Tree): string[] {
  const entrances = new Map<string, string>()
  for (const { name, entrance } of publicSurface(tree).names) entrances.set(name, entrance)
  return [...entrances].map(([name, entrance]) => `${entrance}: ${name}`)
}

function count(items: readonly string[]): Measure {
  return { value: items.length, items }
}

/** A size, and what has it. */
type Sized = readonly [size: number, place: string]

function largest(all: readonly Sized[], goal: number): Measure {
  const value = Math.max(0, ...all.map(([size]) => size))
  return { value, goal, items: all.filter(([size]) => size === value).map(toItem) }
}

function toItem([size, place]: Sized): string {
  return `${place}: ${size}`
}

/** A shorter file with one importer beside it belongs in its importer. */
const fragmentLines = 80

/** Files with one importer that are loaded by themselves as well, and why. */
const loadedAlone: readonly (readonly [path: RegExp, reason: string])[] = [
  [/^store\/sqlite\/(?:.*-)?worker\.ts$/, 'a thread begins there'],
  [/^cli\/main\.ts$/, 'the command begins there'],
]

/**
 * Files under 80 lines of which the only importer is in the same directory. Values and types count, tests do not.
 * Left out: `index.ts` files, as file and as importer, since an entrance only names things; both sides of the manifest's
 * `browser` map; what is loaded only by `import()`, which is there to be loaded later; and `loadedAlone`.
 */
function oneImporterFiles(tree: Tree, { page, replaced }: Facts): string[] {
  const importers = new Map<string, Set<string>>()
  const lazy = new Set<string>()
  for (const source of [...tree.values(), ...page.values()])
    for (const one of source.imports) {
      if (one.target === undefined || one.target === source.path) continue
      importers.set(one.target, (importers.get(one.target) ?? new Set()).add(source.path))
      if (one.lazy) lazy.add(one.target)
    }
  const swapped = new Set(Object.entries(replaced).flat())
  return [...tree.values()].flatMap(({ path, text }) => {
    const [importer = '', ...others] = importers.get(path) ?? []
    if (others.length > 0 || posix.dirname(importer) !== posix.dirname(path)) return []
    if ([path, importer].some((one) => posix.basename(one) === 'index.ts')) return []
    if (importer === '' || lazy.has(path) || swapped.has(path)) return []
    if (countLines(text) >= fragmentLines || loadedAlone.some(([one]) => one.test(path))) return []
    return [`${path}: ${countLines(text)} lines, imported by ${importer} only`]
  })
}

/**
 * Names of interfaces and type aliases that a file declares for itself and another file of `src` declares too. `compat/`
 * has the names of other projects, and does not count.
 */
function duplicateTypeNames(tree: Tree): string[] {
  const places = new Map<string, string[]>()
  const local = new Set<string>()
  for (const { path, program, text } of tree.values()) {
    if (folderOf(path) === 'compat') continue
    for (const node of program.body) {
      const type = node.type === 'ExportNamedDeclaration' ? node.declaration : node
      if (type?.type !== 'TSInterfaceDeclaration' && type?.type !== 'TSTypeAliasDeclaration')
        continue
      const { name } = type.id
      places.set(name, [...(places.get(name) ?? []), `${path}:${lineAt(text, type.start)}`])
      if (type === node) local.add(name)
    }
  }
  return [...places]
    .filter(([name, where]) => where.length > 1 && local.has(name))
    .map(([name, where]) => `${name} is declared in ${where.length} files: ${where.join(', ')}`)
}

/** The words that WORDS.md bans, because a reader has to guess who is meant. */
const banned = /\b(?:nobody|whoever|somebody|whose|elsewhere|is none|told)\b/i

/** Lines of comments with a banned word; a line counts once. */
function bannedWords(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text, comments }) =>
    comments.flatMap(({ start, end }) => {
      if (!banned.test(text.slice(start, end))) return []
      const first = lineAt(text, start)
      return text
        .slice(start, end)
        .split('\n')
        .flatMap((line, at) =>
          banned.test(line) ? [`${path}:${first + at}: ${line.trim().slice(0, 100)}`] : [],
        )
    }),
  )
}

/** How many files each directory has, without its subdirectories. */
function directories(tree: Tree): Sized[] {
  const counts = new Map<string, number>()
  for (const path of tree.keys())
    counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1)
  return [...counts].map(([name, files]) => [files, name])
}
