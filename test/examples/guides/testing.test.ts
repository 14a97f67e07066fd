import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runPrograms } from './programs.ts'

const folder = join(import.meta.dirname, '../../../examples/guides/testing')

test("the tests of the guide pass under Node's own runner", async () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.test.mjs'))
  expect(files.length).toBe(5)
  // A test that fails ends the process with another code than 0, which is thrown here.
  await runPrograms(files.map((name) => ({ file: `testing/${name}` })))
}, 90_000)
