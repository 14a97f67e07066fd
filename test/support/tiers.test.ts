import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { quickTests, toPatterns } from './tiers.ts'

let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'corral-tiers-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
})

/** Which of these files are quick tests. */
function quickOf(files: Readonly<Record<string, string>>): readonly string[] {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return quickTests(root, 'test')
}

const plain = `import { test } from 'vitest'\n`

test('a file is quick that imports neither processes nor databases', () => {
  const files = { 'test/a.test.ts': plain, 'test/deep/b.test.ts': plain, 'test/c.ts': plain }
  expect(quickOf(files)).toEqual(['test/a.test.ts', 'test/deep/b.test.ts'])
})

test.each([
  `import { spawn } from 'node:child_process'`,
  `import {\n  fork,\n  spawn,\n} from 'node:child_process'`,
  `import 'pg'`,
  `export { Client } from 'pg'`,
  `const { chromium } = await import('playwright-core')`,
  `import { createDriver } from '../src/store/sqlite/driver.ts'`,
  `import { createMemoryStore, openSqliteStore } from '../src/store/index.ts'`,
  `import './support/programs.ts'`,
  `import { usePostgres } from './support/postgres.ts'`,
  `import { built } from './support/built.ts'`,
])('a file is not quick with %s', (line) => {
  const files = { 'test/support/postgres.ts': plain, 'test/support/built.ts': plain }
  expect(quickOf({ ...files, 'test/a.test.ts': `${plain}${line}\n` })).toEqual([])
})

test.each(['test/simulation/a.test.ts', 'test/deep/hostile.test.ts'])(
  'nor is %s, which tries thousands of cases',
  (path) => {
    expect(quickOf({ [path]: plain })).toEqual([])
  },
)

test('nor is one that imports such a file, however far away, unless it takes types alone', () => {
  expect(
    quickOf({
      'test/program.ts': `import { spawn } from 'node:child_process'\n`,
      'test/deep/scene.ts': `import { start } from '../program.ts'\nimport '../a.test.ts'\n`,
      'test/a.test.ts': `import { scene } from './deep/scene.ts'\n`,
      'test/b.test.ts': `import type { Scene } from './deep/scene.ts'\n`,
    }),
  ).toEqual(['test/b.test.ts'])
})

test('paths become one pattern for each folder', () => {
  expect(toPatterns(['test/a.test.ts', 'test/deep/b.test.ts', 'test/deep/c.test.ts'])).toEqual([
    'test/a.test.ts',
    'test/deep/{b.test.ts,c.test.ts}',
  ])
})
