import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import { addCommand, exits } from '../command.ts'
import { CliError } from '../errors.ts'
import { stdout } from '../screen.ts'

/** What `corral init` writes. */
const files: Readonly<Record<string, string>> = {
  'corral.toml': `# Serve it with: corral serve corral.toml --watch

[[agents]]
id = "greeter"
name = "Greeter"
description = "Greets whoever writes"
protocol = "module"
endpoint = "./agents/greeter.mjs"
capabilities = ["greeting"]

[[agents]]
id = "editor"
name = "Editor"
description = "Gives a text its last form"
protocol = "module"
endpoint = "./agents/editor.mjs"
capabilities = ["editing"]

[[teams]]
id = "front-desk"
name = "Front Desk"
description = "Greets in well-formed sentences"
mode = "workflow"

[[teams.agents]]
agent_id = "greeter"

[[teams.agents]]
agent_id = "editor"

[teams.scheduler_config]
type = "workflow"

[[teams.scheduler_config.steps]]
agent_id = "greeter"
order = 1

[[teams.scheduler_config.steps]]
agent_id = "editor"
order = 2
`,
  'agents/greeter.mjs': `/** The default export is the agent: a function of the message. */
export default function greet(message) {
  const text = message.parts.map((part) => part.text ?? '').join(' ')
  return \`hello, you wrote: \${text}\`
}
`,
  'agents/editor.mjs': `/** What is yielded reaches the caller at once. */
export default async function* edit(message) {
  const text = message.parts.map((part) => part.text ?? '').join(' ').trim()
  yield text.charAt(0).toUpperCase() + text.slice(1)
  yield '.'
}
`,
}

/** Adds `corral init`. */
export function addInitCommand(program: Command): void {
  addCommand(program, {
    usage: 'init [directory]',
    description: 'write a team of two agents to begin with; files that are there are left alone',
    examples: ['corral init', 'corral init my-team && corral serve my-team/corral.toml --watch'],
  }).action(exits(initCommand))
}

async function initCommand(
  directory = '.',
  { json }: { readonly json?: boolean } = {},
): Promise<number> {
  const paths = Object.keys(files).map((name) => join(directory, name))
  const there = paths.find((path) => existsSync(path))
  if (there)
    throw new CliError(`${there} is already there`, {
      hint: 'Choose another directory: corral init DIRECTORY.',
    })
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text, { flag: 'wx' })
  }
  const next = `Next: corral serve ${join(directory, 'corral.toml')} --watch`
  stdout.write(
    json
      ? `${JSON.stringify({ files: paths })}\n`
      : `${paths.map((path) => `wrote ${path}`).join('\n')}\n${next}\n`,
  )
  return 0
}
