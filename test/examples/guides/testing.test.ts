import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startProcess } from '../../cli/corral.ts'

const folder = join(import.meta.dirname, '../../../examples/guides/testing')
const files = readdirSync(folder).filter((name) => name.endsWith('.test.mjs'))

test("the tests of the guide pass under Node's own runner", async () => {
  // A runner within a runner would report to the outer one instead of printing.
  const env = { NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: undefined }
  const args = ['--test', '--test-reporter=tap', ...files.map((name) => join(folder, name))]
  const { code, stdout } = await startProcess(process.execPath, args, { env }).ended
  expect(stdout).toMatch(/^# fail 0$/m)
  expect(stdout).toContain(`# pass ${files.length}`)
  expect(code).toBe(0)
})
