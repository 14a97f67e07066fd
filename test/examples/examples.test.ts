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

/** Runs programs one after the other in one process: most of the time is its start, and each has run in its own above. */
const starter = `
(async () => {
  for (const file of process.argv.slice(1)) {
    console.log('# ' + file)
    await import(file)
  }
})()`

test('the examples of the seeds run where `npm init -y` made the project, whose files are CommonJS', async () => {
  const project = await mkdtemp(join(tmpdir(), 'seed-'))
  onTestFinished(() => rm(project, { recursive: true }))
  await writeFile(join(project, 'package.json'), '{"type":"commonjs"}')
  await mkdir(join(project, 'node_modules'))
  await symlink(root, join(project, 'node_modules/corral'))
  await symlink(join(root, 'node_modules/libsql'), join(project, 'node_modules/libsql'))
  const files = examples
    .filter((file) => file.startsWith('seeds/'))
    .map((file) => [join(root, 'examples', file), join(project, basename(file))] as const)
  for (const [file, copy] of files) await copyFile(file, copy)
  const copies = files.map(([, copy]) => copy)
  const args = ['--import', import.meta.resolve('tsx'), '-e', starter, '--', ...copies]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: project })
  const outputs = stdout.split(/^# /m).slice(1)
  expect(outputs.map((output) => output.split('\n')[0])).toEqual(copies)
  for (const output of outputs) expect(output).toMatch(/\n./)
})
