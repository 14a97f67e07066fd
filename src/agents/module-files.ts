import { readFileSync, statSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** More than any agent is made of; what is beyond is not followed. */
const maxFiles = 5_000

/**
 * The files that modules are made of, each with a stamp that is another one when the file has changed: the modules, what
 * they import by relative paths, and what that imports. One that is not there is among them, since it may come. Packages
 * are left out.
 */
export function readModuleFiles(modules: readonly string[]): ReadonlyMap<string, string> {
  const files = new Set(modules)
  for (const file of files)
    for (const imported of importsOf(file)) if (files.size < maxFiles) files.add(imported)
  return new Map([...files].map((file) => [file, stampOf(file)]))
}

function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false })
  return `${found?.mtimeMs}:${found?.size}`
}

const code = /\.[cm]?[jt]sx?$/
const relativeImport =
  /\b(?:from|import|require)\b\s{0,80}\(?\s{0,80}(["'`])(\.{1,2}\/[^"'`\n]{1,500})\1/g

function importsOf(file: string): readonly string[] {
  if (!code.test(file) || file.includes('/node_modules/')) return []
  const matches = textOf(file).matchAll(relativeImport)
  return [...matches].flatMap(([, , specifier = '']) => {
    const url = new URL(specifier, pathToFileURL(file))
    // An encoded slash or a foreign host is an import that fails anyway.
    return /%2f|%5c/i.test(url.pathname) ? [] : [sourceOf(fileURLToPath(url))]
  })
}

/** A file that cannot be read imports nothing. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** What is imported as `./x.js`, or as `./x`, may be TypeScript; loaders such as tsx find it. */
function sourceOf(path: string): string {
  const extension = extname(path)
  const stem = path.slice(0, path.length - extension.length)
  const named = typed.get(extension) ?? []
  const candidates = [
    path,
    ...named.map((other) => `${stem}${other}`),
    ...endings.flatMap((ending) => [`${path}${ending}`, `${path}/index${ending}`]),
  ]
  return candidates.find(isFile) ?? path
}

const endings = ['.ts', '.tsx', '.mts', '.js', '.mjs', '.json']
const typed: ReadonlyMap<string, readonly string[]> = new Map([
  ['.js', ['.ts', '.tsx']],
  ['.jsx', ['.tsx']],
  ['.mjs', ['.mts']],
  ['.cjs', ['.cts']],
])

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}
