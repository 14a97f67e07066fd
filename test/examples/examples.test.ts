import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const examples = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
  // The cookbook and the guides have tests of their own.
  .filter((file) => file.endsWith('.ts') && !/^(?:cookbook|guides)\//.test(file))
  .sort()

test('there are examples to run', () => {
  expect(examples).toContain('quickstart/serve.ts')
})

test.each(examples)('the example %s runs to its end', async (file) => {
  const args = ['--import', 'tsx', join('examples', file)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
  expect(stdout).not.toBe('')
})
