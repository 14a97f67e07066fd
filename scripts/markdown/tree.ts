/** The Markdown that people read: what stands at the root, in `docs`, and beside examples. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The paths of all pages of a repository. */
export function pagesOf(root: string): readonly string[] {
  const below = (folder: string): readonly string[] =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.md') && !path.includes('node_modules'))
      .map((path) => join(folder, path))
  const top = readdirSync(root).filter((name) => name.endsWith('.md'))
  const examples = below('examples').filter((path) => path.endsWith('README.md'))
  return [...top, ...below('docs'), ...examples].toSorted()
}

/** The pages that `npm run follow` follows: README, the guides, and the pages of the seeds. */
export function followedPages(root: string): readonly string[] {
  return pagesOf(root).filter((page) => /^(README\.md|docs\/(guides|seeds)\/.*)$/.test(page))
}
