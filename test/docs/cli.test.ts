import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { corral } from '../cli/corral.ts'
import { commandTree, flagsOf } from './cited.ts'

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
const tree = await commandTree()

/** The commands that do something, by all their words; those of `eval` have a page of their own. */
const leaves = tree.commands
  .filter((command) => command.name() !== 'eval')
  .flatMap((command) => leavesOf(command, ''))

function leavesOf(command: Command, before: string): readonly (readonly [string, Command])[] {
  const name = `${before}${command.name()}`
  if (command.commands.length === 0) return [[name, command]]
  return command.commands.flatMap((one) => leavesOf(one, `${name} `))
}

test('docs/cli.md names every command', async () => {
  const { stdout } = await corral(['--help'])
  const names = [...stdout.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name)
  expect(names.toSorted()).toEqual(tree.commands.map((command) => command.name()).toSorted())
  for (const name of names) expect(page).toContain(`corral ${name}`)
})

test.each(leaves)('docs/cli.md names every option of corral %s', (_name, command) => {
  const flags = flagsOf(command).filter((flag) => flag.startsWith('--') && flag !== '--help')
  expect(flags).toContain('--json')
  expect(flags.filter((flag) => !page.includes(flag))).toEqual([])
})
