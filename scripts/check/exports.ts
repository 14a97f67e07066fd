import { isEntrance } from './layers.ts'
import { publicSurface } from './public.ts'
import type { Source, Tree } from './tree.ts'

/** The manifest's `browser` map: a file that stands in for another in a browser, and that other. */
export type Replaced = Readonly<Record<string, string>>

/** One exported name, one meaning. What is only passed on, and `compat/` with its foreign names, does not count. */
export function checkUniqueNames(tree: Tree, replaced: Replaced = {}): string[] {
  const places = new Map<string, string[]>()
  for (const { path, exports } of tree.values()) {
    if (path.startsWith('compat/') || replaced[path]) continue
    for (const { name, line, from } of exports)
      if (!from) places.set(name, [...(places.get(name) ?? []), `${path}:${line}`])
  }
  return [...places]
    .filter(([, where]) => where.length > 1)
    .map(
      ([name, where]) => `${name} is exported with ${where.length} meanings: ${where.join(', ')}`,
    )
}

/** What uses the source from outside of `src`: see `Facts`. */
interface Users {
  readonly page: Tree
  readonly tests: Tree
}

/**
 * Exports that no other file uses. An entrance uses what it passes on, and the types that the declarations of its names
 * are written with: the reference shows them. A file that stands in for another is used as that one is. An export that only a test imports, directly from its file, is accepted here and counted by the ratchet.
 */
export function checkUnusedExports(tree: Tree, replaced: Replaced, users: Users): string[] {
  return unusedExports(tree, replaced, users)
    .filter(({ testOnly }) => !testOnly)
    .map(({ path, line, name }) => `${path}:${line}: ${name} is exported and used in no other file`)
}

/** Exports that only tests, benchmarks and scripts import. */
export function testOnlyExports(tree: Tree, replaced: Replaced, users: Users): string[] {
  return unusedExports(tree, replaced, users)
    .filter(({ testOnly }) => testOnly)
    .map(({ path, line, name }) => `${path}:${line}: ${name}`)
}

interface UnusedExport {
  readonly path: string
  readonly line: number
  readonly name: string
  /** Whether a test uses it nevertheless. */
  readonly testOnly: boolean
}

function unusedExports(tree: Tree, replaced: Replaced, { page, tests }: Users): UnusedExport[] {
  const used = usedNames(tree, page)
  const tested = new Set<string>()
  for (const test of tests.values())
    for (const [target, name] of importedBy(test, tree)) tested.add(`${target}#${name}`)
  return [...tree.values()]
    .filter(({ path }) => !isEntrance(path))
    .flatMap(({ path, exports }) =>
      exports
        .filter(({ name }) => !used.has(`${path}#${name}`))
        .filter(({ name }) => !used.has(`${replaced[path]}#${name}`))
        .map(({ name, line }) => ({ path, line, name, testOnly: tested.has(`${path}#${name}`) })),
    )
}

/** `file#name` of every export that is used, through files that pass it on as well. */
function usedNames(tree: Tree, page: Tree): Set<string> {
  const used = new Set<string>()
  const use = (target: string, name: string): void => {
    if (used.has(`${target}#${name}`)) return
    used.add(`${target}#${name}`)
    const passedOn = tree.get(target)?.exports.find((one) => one.name === name)?.from
    if (passedOn) use(passedOn.target, passedOn.name)
  }
  for (const source of [...tree.values(), ...page.values()]) {
    if (isEntrance(source.path)) for (const { name } of source.exports) use(source.path, name)
    for (const [target, name] of importedBy(source, tree)) use(target, name)
  }
  for (const place of publicSurface(tree).needed) used.add(place)
  return used
}

/** What a file itself asks for. A name that it only passes on counts once somebody asks this file for it. */
function* importedBy(source: Source, tree: Tree): Generator<[target: string, name: string]> {
  for (const { target, names } of source.imports) {
    if (target === undefined) continue
    const passedOn = new Set(
      source.exports.flatMap(({ from }) => (from?.target === target ? [from.name] : [])),
    )
    const module = tree.get(target)
    const asked = names === '*' ? namesOf(module) : (names ?? namesWithin(source.text, module))
    for (const name of asked)
      if (!passedOn.has(name) || isUsedWithin(source.text, name)) yield [target, name]
  }
}

/** Of a module that is taken whole, the names that stand in the text. */
function namesWithin(text: string, module: Source | undefined): string[] {
  return namesOf(module).filter((name) => new RegExp(`\\b${name}\\b`).test(text))
}

function namesOf(module: Source | undefined): string[] {
  return (module?.exports ?? []).map(({ name }) => name)
}

/** Beyond the statements that bring a name in and pass it on. */
function isUsedWithin(text: string, name: string): boolean {
  const rest = text.replace(/^(?:import|export)\s+(?:type\s+)?\{[^}]*\}.*$/gm, '')
  return new RegExp(`\\b${name}\\b`).test(rest)
}
