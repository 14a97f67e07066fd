import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Command } from 'commander'
import { codesOf } from '../../scripts/markdown/links.ts'
import { fencesOf } from '../../scripts/markdown/page.ts'

/** Words of a command line, as a page has them. */
export interface Cited {
  readonly line: number
  readonly words: readonly string[]
}

/** The command with all its commands, whose help is made of this. */
export async function commandTree(): Promise<Command> {
  const program = new Command('corral').option('-V, --version')
  const folder = join(import.meta.dirname, '../../src/cli/commands')
  for (const file of readdirSync(folder)) {
    const exported: Record<string, unknown> = await import(
      `../../src/cli/commands/${basename(file, '.ts')}.ts`
    )
    for (const [name, add] of Object.entries(exported))
      if (/^add\w+Command$/.test(name) && typeof add === 'function') add(program)
  }
  return program
}

/** The lines of commands on a page: those of its blocks, and code within its words. */
export function citedOn(text: string): readonly Cited[] {
  const blocks = fencesOf(text)
    .filter(({ language }) => ['', 'sh', 'text'].includes(language))
    .flatMap(({ line, text: code }) =>
      code
        .replaceAll('\\\n', '  ')
        .split('\n')
        .map((one, at) => ({ line: line + 1 + at, text: one })),
    )
  return [...blocks, ...codesOf(text)].map(({ line, text: code }) => ({
    line,
    words: wordsOf(code),
  }))
}

/** What is wrong with the commands of a line. */
export function faultsOf(tree: Command, words: readonly string[]): readonly string[] {
  return words.flatMap((word, at) => {
    const isCommand = /^(.*\/\.bin\/)?corral$/.test(word) && begins(words[at - 1])
    return isCommand ? faultsOfCommand(tree, untilEnd(words.slice(at + 1))) : []
  })
}

/** Every flag of the tree. */
export function flagsOf(command: Command): readonly string[] {
  const own = command.options.flatMap(({ long, short }) => [long, short]).filter(isText)
  return ['--help', '-h', ...own, ...command.commands.flatMap(flagsOf)]
}

/** The flags of some words, without values and brackets. */
export function flagsIn(words: readonly string[]): readonly string[] {
  return words.flatMap((word) => /^\[?(--?[a-z][\w-]*)/i.exec(word)?.slice(1) ?? [])
}

function wordsOf(code: string): readonly string[] {
  return code.replaceAll('\\|', '|').match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []
}

/** Whether a command may stand behind this word. */
function begins(before: string | undefined): boolean {
  return before === undefined || /^(\$|npx|--yes|exec|&&|\|\||\||;|\(|[A-Z_]+=.*)$/.test(before)
}

function untilEnd(words: readonly string[]): readonly string[] {
  const end = words.findIndex((word) => /^(#|\||&&?|;|>|<|\))/.test(word))
  return end < 0 ? words : words.slice(0, end)
}

function faultsOfCommand(tree: Command, words: readonly string[]): readonly string[] {
  const [name = '', ...rest] = words
  if (name === '' || /^[A-Z<[…]/.test(name)) return []
  if (name.startsWith('-')) return unknownFlags([tree], words)
  const commands = namedBy(tree, name)
  if (commands.length === 0) return [`there is no corral ${name}`]
  const [sub = ''] = rest
  const parents = commands.filter((command) => command.commands.length > 0)
  if (parents.length === 0 || !/^[a-z|]+$/.test(sub)) return unknownFlags(commands, rest)
  const inner = parents.flatMap((command) => namedBy(command, sub))
  if (inner.length === 0) return [`there is no corral ${name} ${sub}`]
  return unknownFlags(inner, rest)
}

/** The commands that `list|redrive` stands for; none where one of them is not there. */
function namedBy(parent: Command, names: string): readonly Command[] {
  const found = names.split('|').map((name) => parent.commands.find((one) => one.name() === name))
  return found.every((one) => one !== undefined) ? found : []
}

function unknownFlags(commands: readonly Command[], words: readonly string[]): readonly string[] {
  const known = commands.flatMap(flagsOf)
  return flagsIn(words)
    .filter((flag) => !known.includes(flag))
    .map((flag) => `corral ${commands.map((one) => one.name()).join('|')} has no ${flag}`)
}

function isText(value: string | undefined | null): value is string {
  return typeof value === 'string'
}
