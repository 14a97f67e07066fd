/**
 * Makes docs/api, the reference of everything that can be imported, from the doc comments: `npm run reference`.
 * `-- --check` writes nothing and exits 1 if a page is not as it would be. The generator lives in `scripts/reference`
 * with a TypeScript of its own, and is installed there when it is first needed.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { digestOf, readSurface } from './reference/surface.ts'

/** The pages by their files. */
type Pages = ReadonlyMap<string, string>

const root = join(import.meta.dirname, '..')
const generator = join(import.meta.dirname, 'reference')
const folder = join(root, 'docs/api')
const names = readSurface(root, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')))
const pages = generate()

if (pages && process.argv.includes('--check')) check(pages)
else if (pages) write(pages)

function generate(): Pages | undefined {
  if (!existsSync(join(generator, 'node_modules')))
    execFileSync('npm', ['ci', '--silent'], { cwd: generator, stdio: 'inherit' })
  const out = mkdtempSync(join(tmpdir(), 'corral-reference-'))
  try {
    const args = ['node_modules/typedoc/bin/typedoc', '--logLevel', 'Warn', '--out', out]
    const { status } = spawnSync(process.execPath, args, { cwd: generator, stdio: 'inherit' })
    // What is wrong has been said: a type that nobody can import, a name without a sentence.
    if (status !== 0) process.exitCode = 1
    return status === 0 ? readPages(out) : undefined
  } finally {
    rmSync(out, { recursive: true })
  }
}

function write(pages: Pages): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  // A test holds the digest against the declarations, so that nobody has to make the reference to know that it is stale.
  const digest = `\n<!-- declarations: ${digestOf(names)} -->\n`
  for (const [page, text] of pages)
    writeFileSync(join(folder, page), page === 'README.md' ? text + digest : text)
  execFileSync(process.execPath, ['--import', 'tsx', 'scripts/snippets.ts'], { cwd: root })
  const size = [...pages.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  console.log(`${names.length} names on ${pages.size} pages, ${Math.round(size / 1000)} kB`)
}

/** Compares all but the examples and the digest, which tests look after. */
function check(pages: Pages): void {
  const plain = (text = ''): string =>
    text
      .replace(/\n<!-- declarations: \w+ -->\n/, '')
      .replace(/(<!-- snippet: \S+ -->\n```\w+\n)[\s\S]*?^```$/gm, '$1```')
  const there = existsSync(folder) ? readPages(folder) : new Map<string, string>()
  const stale = [...new Set([...pages.keys(), ...there.keys()])]
    .filter((page) => plain(pages.get(page)) !== plain(there.get(page)))
    .map((page) => `docs/api/${page}`)
  if (stale.length === 0) return
  console.error(`${stale.join(', ')}: not what the code says; run npm run reference`)
  process.exitCode = 1
}

/** What lies in a folder: the generator writes `corral/server` as a folder and a file in it. */
function readPages(directory: string): Pages {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return new Map(
    files
      .filter((file) => file.endsWith('.md'))
      .map((file) => [
        basename(file),
        `${readFileSync(join(directory, file), 'utf8').trimEnd()}\n`,
      ]),
  )
}
