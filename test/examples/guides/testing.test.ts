import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { guideFile, runPrograms } from './guide.ts'

test("the tests of the guide pass under Node's own runner", async () => {
  const files = readdirSync(guideFile('testing')).filter((name) => name.endsWith('.test.mjs'))
  expect(files.length).toBe(5)
  // A test that fails ends the process with another code than 0, which is thrown here.
  await runPrograms(files.map((name) => ({ name: `testing/${name}` })))
})
