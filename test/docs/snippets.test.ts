import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

test('code in README and docs is what examples/ holds', async () => {
  const args = ['--import', 'tsx', 'scripts/snippets.ts', '--check']
  const { stderr } = await promisify(execFile)(process.execPath, args, { cwd: root })
  expect(stderr).toBe('')
})
