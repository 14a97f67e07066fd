import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runPrograms } from './programs.ts'

const folder = join(import.meta.dirname, '../../../examples/guides/testing')

test("the tests of the guide pass under Node's own runner", async () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.test.mjs'))
  const printed = await runPrograms(files.map((name) => ({ file: `testing/${name}` })))
  expect(printed.join('')).not.toContain('not ok')
  expect(files.length).toBe(5)
}, 90_000)
