import { functionsOf } from './functions.ts'
import { countLines, folderOf, type Tree } from './tree.ts'

const maxFileLines = 600
const maxFunctionLines = 60
/** A component of the page is mostly markup. */
const maxComponentLines = 80

/** Files and functions too long to read at one sitting. */
export function checkLengths(tree: Tree): string[] {
  return [...tree.values()].flatMap((source) => {
    const lines = countLines(source.text)
    const most = source.path.endsWith('.tsx') ? maxComponentLines : maxFunctionLines
    return [
      ...(lines > maxFileLines ? [`${source.path}: ${lines} lines, at most ${maxFileLines}`] : []),
      ...functionsOf(source)
        .filter((one) => one.lines > most)
        .map(
          (one) =>
            `${source.path}:${one.line}: ${one.name} has ${one.lines} lines, at most ${most} outside tables`,
        ),
    ]
  })
}

/** How large the product is. These numbers have no limit: features may add to them. */
export interface Sizes {
  /** Files and lines of each top folder of `src`, with `eval/tau2` and the console's page apart. */
  readonly folders: Readonly<Record<string, FolderSize>>
}

/** Files and lines. */
export interface FolderSize {
  readonly files: number
  readonly lines: number
}

/** What is counted apart from its folder: the page, before and after it moved out of `src`, and the benchmark's port. */
const apart: readonly (readonly [RegExp, string])[] = [
  [/^(?:\.\.\/console|console\/app)\//, 'page'],
  [/^eval\/tau2\//, 'eval/tau2'],
]

/** Counts files and lines. */
export function sizesOf(tree: Tree, page: Tree): Sizes {
  const folders: Record<string, FolderSize> = {}
  for (const { path, text } of [...tree.values(), ...page.values()]) {
    const name = apart.find(([one]) => one.test(path))?.[1] ?? folderOf(path)
    const { files, lines } = folders[name] ?? { files: 0, lines: 0 }
    folders[name] = { files: files + 1, lines: lines + countLines(text) }
  }
  return {
    folders: Object.fromEntries(Object.entries(folders).sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}
