import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const examples = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
  // The cookbook and the guides have tests of their own.
  .filter((file) => /\.m?ts$/.test(file) && !/^(?:cookbook|guides)\//.test(file))
  .sort()

test('there are examples to run', () => {
  expect(examples).toContain('quickstart/serve.ts')
})

test.each(examples)('the example %s runs to its end', async (file) => {
  const args = ['--import', 'tsx', join('examples', file)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
  expect(stdout).not.toBe('')
})

test.each(examples.filter((file) => file.startsWith('seeds/')))(
  'the example %s runs where `npm init -y` made the project, whose files are CommonJS',
  async (file) => {
    const project = await mkdtemp(join(tmpdir(), 'seed-'))
    onTestFinished(() => rm(project, { recursive: true }))
    await writeFile(join(project, 'package.json'), '{"type":"commonjs"}')
    await mkdir(join(project, 'node_modules'))
    await symlink(root, join(project, 'node_modules/corral'))
    await symlink(join(root, 'node_modules/libsql'), join(project, 'node_modules/libsql'))
    const copy = join(project, basename(file))
    await copyFile(join(root, 'examples', file), copy)
    const args = ['--import', import.meta.resolve('tsx'), copy]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: project })
    expect(stdout).not.toBe('')
  },
)
