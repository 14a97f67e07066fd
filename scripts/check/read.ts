import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { createTree, type Tree } from './tree.ts'

/** Parses all files of the folders of a repository, as far as they exist. */
export function readTree(root: string, ...folders: readonly string[]): Tree {
  const files = folders
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.includes(`${sep}node_modules${sep}`))
  return createTree(
    Object.fromEntries(
      files.map((file) => [
        relative(join(root, 'src'), file).replaceAll(sep, '/'),
        readFileSync(file, 'utf8'),
      ]),
    ),
  )
}
