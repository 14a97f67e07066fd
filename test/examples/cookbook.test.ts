import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'examples/cookbook')
const programs = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

test('every program of the cookbook has a file in TOML, a test and a line in the README', async () => {
  expect(programs.length).toBeGreaterThanOrEqual(14)
  const readme = readFileSync(join(root, 'examples/README.md'), 'utf8')
  const lacking = programs.filter(
    (name) =>
      !existsSync(join(folder, name, 'corral.toml')) ||
      !existsSync(join(import.meta.dirname, 'cookbook', `${name}.test.ts`)) ||
      !readme.includes(`](cookbook/${name}/team.ts)`),
  )
  expect(lacking).toEqual([])
})

/** Runs programs one after the other as if each had been started by itself, in one process: most of the time is its start. */
const starter = `
  for (const file of process.argv.slice(1)) {
    process.argv[1] = file
    console.log('# ' + file)
    await import(file)
  }`

test('every program of the cookbook runs by itself, offline', async () => {
  const files = programs.map((name) => join(folder, name, 'team.ts'))
  const args = ['--import', 'tsx', '--input-type=module', '-e', starter, '--', ...files]
  const { MODEL_URL: _, ...env } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env })
  const outputs = stdout.split(/^# /m).slice(1)
  expect(outputs.map((output) => output.split('\n')[0])).toEqual(files)
  for (const output of outputs)
    expect(output).toMatch(/^TASK_STATE_(COMPLETED|FAILED|REJECTED): ./m)
})
