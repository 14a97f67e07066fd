import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { guideFile, runPrograms } from './guide.ts'

test("the tests of the guide pass under Node's own runner", async () => {
  const files = readdirSync(guideFile('testing')).filter((name) => name.endsWith('.test.mjs'))
  const printed = await runPrograms(files.map((name) => ({ name: `testing/${name}` })))
  expect(printed.join('')).not.toContain('not ok')
  expect(files.length).toBe(5)
}, 90_000)
