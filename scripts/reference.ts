/**
 * Makes docs/api, the reference of everything that can be imported, from the doc comments: `npm run reference`.
 * `-- --check` writes nothing and exits 1 if a page is not as it would be. The generator lives in `scripts/reference`
 * with a TypeScript of its own, and is installed there when it is first needed.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { publicSurface } from './check/public.ts'
import { readTree } from './check/read.ts'
import { digestOf, readSurface } from './reference/surface.ts'
import { withTemporary } from './temporary.ts'

/** The pages by their files. */
type Pages = ReadonlyMap<string, string>

const root = join(import.meta.dirname, '..')
const generator = join(import.meta.dirname, 'reference')
const folder = join(root, 'docs/api')
const advice = `
docs/api was left as it is. What to do:
- "not included in the documentation": export the type from its file, so that the page of types has it.
- "does not have any documentation": write a sentence above the name.
- a link that leads nowhere: export the name that it means, or write it as code.`
/** The types that public names are written with, for one page; made for the generator and removed again. */
const typesFile = join(generator, 'types.ts')
const names = readSurface(root, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')))
const pages = await generate()

if (pages && process.argv.includes('--check')) check(pages)
else if (pages) write(pages)

/** The pages as they are to be; undefined where the generator has said what is wrong. */
function generate(): Promise<Pages | undefined> {
  return withTemporary('reference', async (out) => {
    const isThere = existsSync(join(generator, 'node_modules'))
    if (!isThere && !run(generator, 'npm', ['ci', '--silent'])) return undefined
    writeFileSync(typesFile, typesEntry())
    const args = ['node_modules/typedoc/bin/typedoc', '--logLevel', 'Warn', '--out', out]
    const isDone = run(generator, process.execPath, args)
    rmSync(typesFile)
    if (isDone) return readPages(out)
    console.error(advice)
    return undefined
  })
}

/** A file that exports the types that public names are written with and that no entrance exports. */
function typesEntry(): string {
  const tree = readTree(root, 'src')
  const { names: exported, needed } = publicSurface(tree)
  const places = new Set(exported.map(({ place }) => place))
  const types = [...needed]
    .filter((place) => !places.has(place))
    .map((place) => place.split('#'))
    .filter(([path = '', name]) => tree.get(path)?.exports.some((one) => one.name === name))
  // `compat/` has drafts of other projects under names that the source has too.
  const isSecond = ([path = '', name]: readonly string[]): boolean =>
    path.startsWith('compat/') && types.some(([other, same]) => other !== path && same === name)
  const lines = types.map((type) => {
    const [path, name] = type
    return `export type { ${name}${isSecond(type) ? ` as Compat${name}` : ''} } from '../../src/${path}'`
  })
  const words =
    'Types that public names are written with: look here for what they hold. None of them needs to be imported.'
  return `/**\n * ${words}\n *\n * @module types\n */\n${lines.toSorted().join('\n')}\n`
}

/** Whether a command does its work; what it says is shown, and where it does not, this script fails too. */
function run(cwd: string, command: string, args: readonly string[]): boolean {
  const isDone = spawnSync(command, args, { cwd, stdio: 'inherit' }).status === 0
  if (!isDone) process.exitCode = 1
  return isDone
}

function write(pages: Pages): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  // A test holds the digest against the declarations, so that nobody has to make the reference to know that it is stale.
  const digest = `\n<!-- declarations: ${digestOf(names)} -->\n`
  for (const [page, text] of pages)
    writeFileSync(join(folder, page), page === 'README.md' ? text + digest : text)
  if (!run(root, process.execPath, ['--import', 'tsx', 'scripts/snippets.ts'])) return
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

/** What lies in a folder: the generator writes `corral/store/custom` as folders and a file in them. */
function readPages(directory: string): Pages {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return new Map(
    files
      .filter((file) => file.endsWith('.md'))
      .map((file) => [
        file
          .replaceAll(sep, '/')
          .replace(/^corral\//, '')
          .replaceAll('/', '-'),
        `${readFileSync(join(directory, file), 'utf8').trimEnd()}\n`,
      ]),
  )
}
