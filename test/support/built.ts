import { existsSync } from 'node:fs'

/**
 * A file of what `npm run build` makes, by its path in `dist`. `npm test` builds first; a single test that needs the build
 * says so where it is missing.
 */
export function built(path: string): URL {
  const url = new URL(`../../dist/${path}`, import.meta.url)
  if (!existsSync(url)) throw new Error(`dist/${path} is missing: npm run build makes it`)
  return url
}
