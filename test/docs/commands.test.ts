import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pagesOf } from '../../scripts/markdown/tree.ts'
import { citedOn, commandTree, faultsOf, flagsIn, flagsOf } from './cited.ts'

const root = join(import.meta.dirname, '../..')
const tree = await commandTree()
const ours = new Set(flagsOf(tree))
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** What the repository's own scripts are made of: their flags stand in it. */
const sources = ['scripts', 'bench'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(root, folder, file), 'utf8')),
)

/** Flags of programs that are not ours. */
const foreign = new Set([
  '-wal',
  '-shm',
  '--import',
  '--prof',
  '--silent',
  '--save-dev',
  '-y',
  '-g',
])

function isKnown(flag: string): boolean {
  const name = flag.slice(2)
  const isScript = new RegExp(`--${name}\\b|\\b'?${name}'?: \\{ type:`)
  return ours.has(flag) || foreign.has(flag) || sources.some((source) => isScript.test(source))
}

describe.each(pagesOf(root))('%s', (page) => {
  const cited = citedOn(readFileSync(join(root, page), 'utf8'))
  const tell = (line: number, fault: string): string => `${page}:${line} ${fault}`

  test('names only commands and flags that there are', () => {
    const faults = cited.flatMap(({ line, words }) =>
      faultsOf(tree, words).map((fault) => tell(line, fault)),
    )
    const bare = cited
      .filter(({ words }) => words[0]?.startsWith('--'))
      .flatMap(({ line, words }) => flagsIn(words).map((flag) => ({ line, flag })))
      .filter(({ flag }) => !isKnown(flag))
    expect([...faults, ...bare.map(({ line, flag }) => tell(line, `no ${flag}`))]).toEqual([])
  })

  // Guides speak of the reader's own project.
  test.skipIf(page.startsWith('docs/guides/'))('names only scripts that there are', () => {
    const faults = cited.flatMap(({ line, words }) => {
      const [first, second, ...rest] = words
      const name = rest.find((word) => !word.startsWith('-'))
      if (first !== 'npm' || second !== 'run' || name === undefined || name in scripts) return []
      return [tell(line, `there is no npm run ${name}`)]
    })
    expect(faults).toEqual([])
  })
})

describe('a page is found to be wrong', () => {
  test.each([
    ['corral sevre team.toml', 'there is no corral sevre'],
    ['npx corral serve team.toml --prot 1', 'corral serve has no --prot'],
    ['corral task get|lost URL', 'there is no corral task get|lost'],
    ['corral webhooks redrive STORE --alle', 'corral redrive has no --alle'],
    ['PORT=1 corral demo --watch-out | cat', 'corral demo has no --watch-out'],
  ])('where it says %s', (code, fault) => {
    const cited = citedOn(`\`${code.replaceAll('|', '\\|')}\``)
    expect(cited.flatMap(({ words }) => faultsOf(tree, words))).toEqual([fault])
  })

  test.each([
    'npm install corral pg --save-dev',
    'corral eval run --domain kestrel # --never',
    'corral task get|list URL --json',
    'corral COMMAND --help',
  ])('but not where it says %s', (code) => {
    const cited = citedOn(['```sh', code, '```'].join('\n'))
    expect(cited.flatMap(({ words }) => faultsOf(tree, words))).toEqual([])
  })
})
