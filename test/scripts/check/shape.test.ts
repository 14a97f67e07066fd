import { describe, expect, test } from 'vitest'
import { shapeOf } from '../../../scripts/check/shape.ts'
import { sizesOf } from '../../../scripts/check/sizes.ts'
import { createTree } from '../../../scripts/check/tree.ts'
import { facts, house } from './house.ts'

type Files = Readonly<Record<string, string>>

/** What a measure lists in the house with some files more. */
function itemsOf(name: string, planted: Files = {}, more: Partial<typeof facts> = {}) {
  return shapeOf(createTree({ ...house, ...planted }), { ...facts, ...more })[name]?.items
}

describe('files with one importer', () => {
  const user = "import { a } from './a.ts'\nexport const b = a\n"

  test('are counted when the importer is beside them', () => {
    const planted = { 'engine/a.ts': 'export const a = 1\n', 'engine/b.ts': user }
    expect(itemsOf('oneImporterFiles', planted)).toEqual([
      'engine/a.ts: 1 lines, imported by engine/b.ts only',
    ])
  })

  test.each<[string, Files]>([
    ['of 80 lines', { 'engine/a.ts': '//\n'.repeat(80), 'engine/b.ts': user }],
    ['loaded on first use', { 'engine/a.ts': '', 'engine/b.ts': "void import('./a.ts')\n" }],
    ['of an entrance', { 'client/a.ts': '', 'client/index.ts': "export { a } from './a.ts'\n" }],
    ['of another directory', { 'engine/a.ts': '', 'team/b.ts': "import '../engine/a.ts'\n" }],
    [
      'and a second one, for types',
      { 'engine/a.ts': '', 'engine/b.ts': user, 'engine/c.ts': "import type {} from './a.ts'\n" },
    ],
  ])('are not: %s', (_case, planted) => {
    expect(itemsOf('oneImporterFiles', planted)).toEqual([])
  })

  test('are not where the browser has another file instead', () => {
    const planted = { 'engine/a.ts': '', 'engine/b.ts': user }
    const replaced = { 'engine/web.ts': 'engine/a.ts' }
    expect(itemsOf('oneImporterFiles', planted, { replaced })).toEqual([])
  })
})

describe('interfaces with one implementation', () => {
  const host = 'export interface Host { now(): number }\n'
  const use = "import type { Host } from './host.ts'\n"

  test.each<[string, Files, string]>([
    ['a class', { 'engine/a.ts': `${use}class A implements Host {}\n` }, 'engine/a.ts:2'],
    [
      'a field',
      {
        'engine/a.ts': `${use}class A {\n  #host: Host\n  constructor() {\n    this.#host = { now }\n  }\n}\n`,
      },
      'engine/a.ts:5',
    ],
    [
      'a function of another file',
      { 'engine/a.ts': `${use}function f(): Host {\n  return { now }\n}\n` },
      'engine/a.ts:3',
    ],
    [
      'an argument',
      {
        'engine/a.ts': `${use}export function run(host: Host) {}\n`,
        'engine/b.ts': "import { run } from './a.ts'\nrun({ now })\n",
      },
      'engine/b.ts:2',
    ],
  ])('are counted: %s', (_case, planted, place) => {
    expect(itemsOf('singleImplementations', { 'engine/host.ts': host, ...planted })).toEqual([
      `engine/host.ts:1: Host, made at ${place}`,
    ])
  })

  test.each<[string, Files]>([
    [
      'two of them',
      { 'engine/a.ts': `${use}class A implements Host {}\nconst b: Host = { now }\n` },
    ],
    [
      'a user in another folder',
      {
        'engine/a.ts': `${use}const b: Host = { now }\n`,
        'team/a.ts': "import type { Host } from '../engine/host.ts'\n",
      },
    ],
    [
      'a public one',
      {
        'engine/a.ts': `${use}const b: Host = { now }\n`,
        'server/index.ts': "export type { Host } from '../engine/host.ts'\n",
      },
    ],
    [
      'the result of a function beside it',
      { 'engine/host.ts': `${host}function f(): Host { return { now } }\n` },
    ],
    [
      'data only',
      { 'engine/host.ts': 'export interface Host { a: 1 }\nconst a: Host = { a: 1 }\n' },
    ],
  ])('are not: %s', (_case, planted) => {
    expect(itemsOf('singleImplementations', { 'engine/host.ts': host, ...planted })).toEqual([])
  })
})

test('type names that two files declare are counted where one keeps its own to itself', () => {
  const planted = {
    'engine/a.ts': 'interface Found {}\nexport type One = 1\n',
    'team/b.ts': '\ntype Found = 1\n',
    'compat/c.ts': 'type One = 1\n',
  }
  expect(itemsOf('duplicateTypeNames', planted)).toEqual([
    'Found is declared in 2 files: engine/a.ts:1, team/b.ts:2',
  ])
})

test('banned words are counted by line, in comments only', () => {
  const planted = {
    'engine/a.ts': "/**\n * Told to nobody.\n * Fine.\n */\nconst a = 'nobody' // whose\n",
  }
  expect(itemsOf('bannedWords', planted)).toEqual([
    'engine/a.ts:2: * Told to nobody.',
    'engine/a.ts:5: // whose',
  ])
  const page = createTree({ '../console/a.ts': '// elsewhere\n' })
  expect(itemsOf('bannedWords', {}, { page })).toEqual(['../console/a.ts:1: // elsewhere'])
})

test('exports for tests only are counted', () => {
  const tests = createTree({
    '../test/a.test.ts': "import { one } from '../src/engine/a.ts'\none()\n",
  })
  const planted = { 'engine/a.ts': 'export const one = () => 1\n' }
  expect(itemsOf('testOnlyExports', planted, { tests })).toEqual(['engine/a.ts:1: one'])
})

test('the longest file and function and the fullest directory are named', () => {
  const planted = { 'engine/a.ts': `function f() {\n${'  step()\n'.repeat(70)}}\n` }
  expect(itemsOf('longestFile', planted)).toEqual(['engine/a.ts: 72'])
  expect(itemsOf('longestFunction', planted)).toEqual(['engine/a.ts:1: f: 72'])
  expect(itemsOf('longFunctions', planted)).toEqual(['engine/a.ts:1: f: 72'])
  expect(itemsOf('filesInOneDirectory', planted)).toEqual(['store: 3'])
})

test('public names are counted once', () => {
  const planted = { 'server/index.ts': "export type { Store } from '../store/store.ts'\n" }
  expect(itemsOf('publicNames', planted)).toEqual([
    'store/index.ts: createMemoryStore',
    'server/index.ts: Store',
  ])
})

test('the size counts files and lines by folder', () => {
  const more = {
    'eval/tau2/a.ts': '//\n',
    'server/index.ts': "export type { Store } from '../store/store.ts'\n",
  }
  expect(sizesOf(createTree({ ...house, ...more }), new Map())).toEqual({
    folders: {
      'eval/tau2': { files: 1, lines: 1 },
      protocol: { files: 1, lines: 1 },
      server: { files: 1, lines: 1 },
      shared: { files: 1, lines: 1 },
      store: { files: 3, lines: 7 },
    },
  })
})
