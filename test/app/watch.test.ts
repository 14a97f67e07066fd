import { fork } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let directory = ''
const ends: (() => void)[] = []

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'corral-watch-'))
})

afterEach(async () => {
  for (const end of ends.splice(0)) end()
  await rm(directory, { recursive: true })
})

/** Writes a file as editors do: whole, in the place of the old one, which is one change. */
async function write(name: string, text: string): Promise<void> {
  const path = join(directory, name)
  await mkdir(dirname(path), { recursive: true })
  const draft = join(directory, `${crypto.randomUUID()}.draft`)
  await writeFile(draft, text)
  await rename(draft, path)
}

const agent = (id: string, file: string): string =>
  `[[agents]]\nid = "${id}"\nname = "${id}"\nendpoint = "./${file}"\nprotocol = "module"\n`

/** What the process made of a change. */
interface Reload {
  /** -1 where it failed. */
  readonly number: number
  readonly error?: string
  /** How often a change has been noticed. */
  readonly noticed: number
}

/** What the process tells. */
interface Told {
  readonly ready: true
  readonly answer: string
  readonly reload: Reload
}

/** A process that watches the configuration. */
interface Watching {
  /** The reload that follows what is done. */
  reloadAfter(change: () => Promise<void>): Promise<Reload>
  /** What an agent of a reload answers; the agents of the start are those of reload 0. */
  ask(agent: string, reload: number): Promise<string>
}

async function watching(...nodeOptions: readonly string[]): Promise<Watching> {
  const script = fileURLToPath(new URL('./watch-process.mjs', import.meta.url))
  const child = fork(script, [join(directory, 'corral.toml')], {
    execArgv: [...nodeOptions],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  ends.push(() => child.kill())
  // Listens before it acts, so that nothing that is told is missed.
  const told = async <Kind extends keyof Told>(
    kind: Kind,
    act: () => Promise<void> | void,
  ): Promise<Told[Kind]> => {
    const heard = new Promise<Told[Kind]>((resolve) => {
      const hear = (message: Partial<Told>): void => {
        const found = message[kind]
        if (found === undefined) return
        child.off('message', hear)
        resolve(found)
      }
      child.on('message', hear)
    })
    await act()
    return heard
  }
  await told('ready', () => {})
  return {
    reloadAfter: (change) => told('reload', change),
    ask: (agent, reload) => told('answer', () => void child.send({ reload, agent })),
  }
}

describe('a module is loaded anew', () => {
  test('when what it imports has changed, however far away', async () => {
    await write('corral.toml', agent('a', 'a.mjs'))
    await write('a.mjs', `import { word } from './lib/word.mjs'\nexport default () => word`)
    await write('lib/word.mjs', `export * from '../deep/words.mjs'`)
    await write('deep/words.mjs', `export const word = 'old'`)
    const { reloadAfter, ask } = await watching()
    expect(await ask('a', 0)).toBe('old')
    await reloadAfter(() => write('deep/words.mjs', `export const word = 'new'`))
    expect(await ask('a', 1)).toBe('new')
    expect(await ask('a', 0)).toBe('old')
    await reloadAfter(() => write('lib/word.mjs', `export const word = 'near'`))
    expect(await ask('a', 2)).toBe('near')
  })

  test('when a file changes that it imports since the last change', async () => {
    await write('corral.toml', agent('a', 'a.mjs'))
    await write('a.mjs', `export default () => 'alone'`)
    await write('lib/word.mjs', `export const word = 'old'`)
    const { reloadAfter, ask } = await watching()
    const text = `export default async () => (await import('./lib/word.mjs')).word`
    await reloadAfter(() => write('a.mjs', text))
    expect(await ask('a', 1)).toBe('old')
    await reloadAfter(() => write('lib/word.mjs', `export const word = 'new'`))
    expect(await ask('a', 2)).toBe('new')
  })

  test('when a file comes that was missing, even its directory', async () => {
    await write('corral.toml', agent('a', 'a.mjs'))
    await write('a.mjs', `export default () => 'alone'`)
    const { reloadAfter, ask } = await watching()
    const text = `import { word } from './lib/far/word.mjs'\nexport default () => word`
    const { error } = await reloadAfter(() => write('a.mjs', text))
    expect(error).toContain("Cannot find module './lib/far/word.mjs' imported from ./a.mjs")
    const there = (): Promise<void> => write('lib/far/word.mjs', `export const word = 'there'`)
    let last = await reloadAfter(there)
    // The directory may have been seen before the file was in it.
    while (last.number < 0) last = await reloadAfter(there)
    expect(await ask('a', last.number)).toBe('there')
  })

  test('when it is CommonJS, with what it requires', async () => {
    await write('corral.toml', agent('a', 'a.cjs'))
    await write('a.cjs', `const { word } = require('./word.cjs')\nmodule.exports = () => word`)
    await write('word.cjs', `exports.word = require('./word.json').word`)
    await write('word.json', `{ "word": "old" }`)
    const { reloadAfter, ask } = await watching()
    expect(await ask('a', 0)).toBe('old')
    await reloadAfter(() => write('word.json', `{ "word": "new" }`))
    expect(await ask('a', 1)).toBe('new')
  })

  test('when it is TypeScript, under the names that loaders know', async () => {
    await write('corral.toml', agent('a', 'a.ts'))
    await write('package.json', `{ "type": "module" }`)
    const text = `import { word } from './lib/word.js'\nimport { end } from './end'\n`
    await write('a.ts', `${text}export default (): string => word + end`)
    await write('lib/word.ts', `export const word: string = 'old'`)
    await write('end.ts', `export enum Unused {}\nexport const end = '.'`)
    const { reloadAfter, ask } = await watching('--import', 'tsx')
    expect(await ask('a', 0)).toBe('old.')
    await reloadAfter(() => write('lib/word.ts', `export const word: string = 'new'`))
    expect(await ask('a', 1)).toBe('new.')
    await reloadAfter(() => write('end.ts', `export const end = '!'`))
    expect(await ask('a', 2)).toBe('new!')
  })
})

describe('modules share what they import', () => {
  const counting = `import { count } from './count.mjs'\nexport default () => String(count())`
  const counter = `let n = 0\nexport const count = () => ++n`

  beforeEach(async () => {
    await write('corral.toml', agent('a', 'a.mjs') + agent('b', 'b.mjs'))
    await write('a.mjs', counting)
    await write('b.mjs', counting)
    await write('count.mjs', counter)
  })

  test('after a change too', async () => {
    const { reloadAfter, ask } = await watching()
    expect([await ask('a', 0), await ask('b', 0)]).toEqual(['1', '2'])
    await reloadAfter(() => write('count.mjs', counter.replace('0', '10')))
    expect([await ask('a', 1), await ask('b', 1)]).toEqual(['11', '12'])
    await reloadAfter(() => write('a.mjs', `${counting} + '!'`))
    expect([await ask('b', 2), await ask('a', 2)]).toEqual(['11', '12!'])
  })

  test('and keep it where only the configuration changes', async () => {
    const { reloadAfter, ask } = await watching()
    expect(await ask('a', 0)).toBe('1')
    await write('c.mjs', counting)
    await reloadAfter(() => write('corral.toml', agent('a', 'a.mjs') + agent('c', 'c.mjs')))
    expect([await ask('c', 1), await ask('a', 1)]).toEqual(['2', '3'])
  })
})

test('a file that is no longer imported is left alone', async () => {
  await write('corral.toml', agent('a', 'a.mjs'))
  await write('a.mjs', `import { word } from './lib/word.mjs'\nexport default () => word`)
  await write('lib/word.mjs', `export const word = 'imported'`)
  const { reloadAfter, ask } = await watching()
  const first = await reloadAfter(() => write('a.mjs', `export default () => 'alone'`))
  expect(await ask('a', first.number)).toBe('alone')
  const second = await reloadAfter(async () => {
    await write('lib/word.mjs', `export const word = 'x'`)
    await write('a.mjs', `export default () => 'still alone'`)
  })
  expect(second.noticed).toBe(first.noticed + 1)
})
