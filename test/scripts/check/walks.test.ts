import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { instrument, numbersOf, record } from '../../../scripts/walks/instrument.ts'

/** Instruments modules, writes them to a folder and imports the first. */
async function plant(modules: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'corral-instrument-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [path, code] of Object.entries(modules))
    writeFileSync(join(folder, path), instrument(code, path))
  const [first = ''] = Object.keys(modules)
  return import(/* @vite-ignore */ pathToFileURL(join(folder, first)).href)
}

test('calls, hops and returns of a walk are counted in order', async () => {
  const { walk } = await plant({
    'a.mjs':
      "import { b } from './b.mjs'\nimport { c } from './c.mjs'\nconst own = () => 1\nown()\nexport function walk() { own(); b(); own(); c(); return b() }\n",
    'b.mjs': "import { c } from './c.mjs'\nexport const b = () => c()\n",
    'c.mjs': 'export const c = () => ({ of: 1 })\n',
  })
  const entered = await record(async () => walk())
  expect(entered.map((file) => file[0]).join('')).toBe('aabcacbc')
  expect(numbersOf(entered)).toEqual({ files: 3, calls: 8, hops: 6, returns: 4 })
  walk()
  expect(entered).toHaveLength(8)
})

test.each([
  [
    'an arrow of an arrow',
    'const f = (a) => (b) => a + b\nexport const walk = () => f(1)(2)',
    3,
    3,
  ],
  [
    'a method and an accessor',
    'class A { #a = 2\n get a() { return this.#a }\n m() { return this.a } }\nexport const walk = () => new A().m()',
    4,
    2,
  ],
  [
    'a constructor',
    'class A { a = 1\n constructor() { this.a++ } }\nexport const walk = () => new A().a',
    2,
    2,
  ],
  [
    'a class of empty fields',
    'class A { #a;\n static of(a) { return #a in a } }\nexport const walk = () => A.of(new A())',
    3,
    true,
  ],
  [
    'a derived class',
    'class A {}\nclass B extends A { constructor() { super() ; this.b = 3 } }\nexport const walk = () => new B().b',
    2,
    3,
  ],
  [
    'a generator',
    'function* f() { yield 1; yield 2 }\nexport const walk = () => [...f()].length',
    2,
    2,
  ],
  ['an async arrow', 'const f = async () => await 5\nexport const walk = () => f()', 2, 5],
])('%s is counted and does what it did', async (_name, code, calls, result) => {
  const { walk } = await plant({ 'a.mjs': `${code}\n` })
  let given: unknown
  const entered = await record(async () => {
    given = await walk()
  })
  expect(entered).toHaveLength(calls)
  expect(given).toBe(result)
})

test('what another process entered follows', async () => {
  expect(await record(async () => ['other.js'])).toEqual(['other.js'])
  expect(numbersOf([])).toEqual({ files: 0, calls: 0, hops: 0, returns: 0 })
})
