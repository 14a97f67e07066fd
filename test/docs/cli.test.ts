import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { corral } from '../cli/corral.ts'

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

test('docs/cli.md names every command', async () => {
  const { stdout } = await corral(['--help'])
  const names = [...stdout.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name)
  expect(names.length).toBeGreaterThan(10)
  for (const name of names) expect(page).toContain(`corral ${name}`)
})

test.each([
  'serve',
  'demo',
  'init',
  'validate',
  'mcp',
  'card',
  'send',
  'chat',
  'task get',
  'task list',
  'webhooks redrive',
  'store prune',
  'store copy',
  'cluster status',
])('docs/cli.md names every option of corral %s', async (command) => {
  const { stdout } = await corral([...command.split(' '), '--help'])
  const flags = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag]) => flag)
  expect(flags).toContain('--json')
  for (const flag of flags) if (flag !== '--help') expect(page).toContain(flag)
})
