/**
 * The structure check: the rules of ARCHITECTURE.md and STYLE.md that a program can prove. Prints one line per fault
 * and the sizes, and exits with 1 on a fault. Each rule is a file of `check/`, tested in `test/scripts/`.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { operationNames } from '../src/protocol/operations.ts'
import { checks, type Facts } from './check/checks.ts'
import type { Replaced } from './check/exports.ts'
import { sizesOf } from './check/sizes.ts'
import { createTree, type Tree } from './check/tree.ts'

/** The folder that holds `src` and the manifest; another than this one's for a test. */
const root = process.argv[2] ?? join(import.meta.dirname, '..')
const tree = readTree()
const facts: Facts = { operations: operationNames, replaced: readReplaced() }

let failed = false
for (const [name, check] of Object.entries(checks)) {
  const faults = check(tree, facts)
  for (const fault of faults) console.error(`${name}: ${fault}`)
  if (faults.length > 0) failed = true
}
const { files, median, p90, longest } = sizesOf(tree)
console.log(`${files} files, median ${median} lines, p90 ${p90}; longest function: ${longest}`)
process.exit(failed ? 1 : 0)

function readTree(): Tree {
  const src = join(root, 'src')
  const files = readdirSync(src, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  return createTree(
    Object.fromEntries(
      files.map((file) => [relative(src, file).replaceAll(sep, '/'), readFileSync(file, 'utf8')]),
    ),
  )
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
