import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  digestOf,
  isDocumented,
  type PublicName,
  readSurface,
} from '../../../scripts/reference/surface.ts'

const root = mkdtempSync(join(tmpdir(), 'corral-surface-'))
afterAll(() => rmSync(root, { recursive: true }))

const manifest = {
  name: 'pen',
  exports: {
    '.': { types: './dist/index.d.ts' },
    './ink': { types: './dist/ink/index.d.ts' },
    './package.json': './package.json',
  },
}

const files = {
  'dist/index.d.ts':
    "export type * from './words.ts'\nexport { draw as sketch } from './draw.js'\n",
  'dist/words.d.ts': "export * from './words/line.ts'\n/** A page. */\nexport type Page = 1\n",
  'dist/words/line.d.ts': '/** A line. */\nexport interface Line {}\ninterface Hidden {}\n',
  'dist/draw.d.ts':
    '/** Draws a line. */\nexport declare function draw(): void;\nexport declare function draw(wide: true): void;\n',
  'dist/ink/index.d.ts':
    "import type { Line } from '../words/line.ts'\n/** Ink. */\ndeclare const ink = 1\nexport { ink, type Line }\n",
}

function surface(changed: Readonly<Record<string, string>> = {}): readonly PublicName[] {
  for (const [file, text] of Object.entries({ ...files, ...changed })) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return readSurface(root, manifest)
}

describe('the public names', () => {
  test('are those of each entrance, by the names under which they leave', () => {
    expect(surface().map(({ entrance, name }) => `${entrance} ${name}`)).toEqual([
      'pen Line',
      'pen Page',
      'pen sketch',
      'pen/ink Line',
      'pen/ink ink',
    ])
  })

  test('have their declarations, however often they are passed on', () => {
    const lines = surface().filter(({ name }) => name === 'Line')
    expect(lines.map(({ declarations }) => declarations)).toEqual([
      ['/** A line. */\nexport interface Line {}'],
      ['/** A line. */\nexport interface Line {}'],
    ])
  })

  test('are documented where each declaration has a sentence', () => {
    const silent = surface().filter((one) => !isDocumented(one))
    expect(silent.map(({ name }) => name)).toEqual(['sketch'])
    const empty = { 'dist/words.d.ts': '/** */\nexport type Page = 1\n' }
    expect(surface(empty).filter((one) => !isDocumented(one))).toHaveLength(2)
  })

  test('have another digest when a comment changes, and the same when what is hidden does', () => {
    const before = digestOf(surface())
    const hidden = { 'dist/words/line.d.ts': `${files['dist/words/line.d.ts']}type Other = 1\n` }
    expect(digestOf(surface(hidden))).toBe(before)
    const worded = { 'dist/words.d.ts': files['dist/words.d.ts'].replace('A page', 'A sheet') }
    expect(digestOf(surface(worded))).not.toBe(before)
  })
})
