/**
 * The structure check: the rules of ARCHITECTURE.md and STYLE.md that a program can prove, and the ratchet.
 *
 *   npx tsx scripts/check.ts [FOLDER] [--record]
 *
 * Prints one line per error and the size of the tree, and exits with 1 on an error. Each rule is a file of `check/`, tested
 * in `test/scripts/`. `--record` writes the numbers of the ratchet that fell, unless one rose.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { operationNames } from '../src/protocol/operations.ts'
import { checks, type Facts } from './check/checks.ts'
import type { Replaced } from './check/exports.ts'
import { compareShape, readRatchet, recordShape, sizeTable, writeRatchet } from './check/ratchet.ts'
import { readTree } from './check/read.ts'
import { shapeOf } from './check/shape.ts'
import { sizesOf } from './check/sizes.ts'
import type { Tree } from './check/tree.ts'
import { codesOf } from './markdown/links.ts'
import { fencesOf } from './markdown/page.ts'
import { pagesOf } from './markdown/tree.ts'

const { values: flags, positionals } = parseArgs({
  options: { record: { type: 'boolean', default: false } },
  allowPositionals: true,
})
/** The folder that has `src` and the manifest; a test gives another one. */
const root = positionals[0] ?? join(import.meta.dirname, '..')
const tree = readTree(root, 'src')
const facts: Facts = {
  operations: operationNames,
  replaced: readReplaced(),
  page: withoutTests(readTree(root, 'console')),
  tests: readTree(root, 'test', 'test-slow', 'bench', 'scripts', 'console/test'),
  mentioned: new Set([...examples(), ...codeOnPages()].flatMap((text) => text.match(/\w+/g) ?? [])),
}

/** The page keeps the rules of the source too. */
const whole: Tree = new Map([...tree, ...facts.page])

let failed = false
for (const [name, check] of Object.entries(checks)) {
  const faults = check(whole, facts)
  for (const fault of faults) console.error(`${name}: ${fault}`)
  if (faults.length > 0) failed = true
}

const ratchet = readRatchet(root)
const shape = shapeOf(tree, facts)
const size = sizesOf(tree, facts.page)
const { risen, fallen, unknown } = compareShape(ratchet.shape, shape)
console.log(sizeTable(ratchet.size, size))
console.log(
  Object.entries(shape)
    .map(([name, { value }]) => `${name} ${value}`)
    .join(', '),
)
const command = 'npx tsx scripts/check.ts --record'
const isRecorded = flags.record && risen.length === 0
for (const line of risen) console.error(`shape: ${line}`)
for (const line of fallen)
  console.log(`shape: ${line}${isRecorded ? '' : `; record it: ${command}`}`)
if (risen.length > 0)
  console.error('shape: to raise a number, edit scripts/check/ratchet.json and add a reason there')
if (isRecorded) writeRatchet(root, recordShape(ratchet, shape, size))
else for (const line of unknown) console.error(`shape: ${line}: ${command}`)
if (risen.length > 0 || (!isRecorded && unknown.length > 0)) failed = true
process.exit(failed ? 1 : 0)

function withoutTests(page: Tree): Tree {
  return new Map([...page].filter(([path]) => !path.startsWith('../console/test/')))
}

/** The texts of all programs in `examples`. */
function examples(): string[] {
  const folder = join(root, 'examples')
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.m?[jt]s$/.test(file) && !file.includes('node_modules'))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
}

/** Blocks and stretches of code on README and the pages of `docs`, but the reference. */
function codeOnPages(): string[] {
  if (!existsSync(join(root, 'docs'))) return []
  return pagesOf(root)
    .filter((page) => page === 'README.md' || /^docs\/(?!api\/)/.test(page))
    .map((page) => readFileSync(join(root, page), 'utf8'))
    .flatMap((page) => [...fencesOf(page), ...codesOf(page)].map(({ text }) => text))
}

function readReplaced(): Replaced {
  const { browser = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const toSource = (path: string): string => path.replace('./dist/', '').replace(/\.js$/, '.ts')
  return Object.fromEntries(
    Object.entries(browser).flatMap(([original, other]) =>
      typeof other === 'string' ? [[toSource(other), toSource(original)]] : [],
    ),
  )
}
