import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { here } from '../../bench/processes.ts'
import { createRandom } from '../../test/durability/random.ts'
import type { Pair } from './ledger.ts'
import { both, type Setup } from './sides.ts'

const area = 'cli'

/** One build's command, and the folder in which it runs. */
interface Command {
  readonly program: string
  readonly home: string
}

/** What a command did. */
interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const helps = [
  '',
  'serve',
  'demo',
  'console',
  'init',
  'validate',
  'card',
  'send',
  'chat',
  'task',
  'task get',
  'task list',
  'task watch',
  'task cancel',
  'mcp',
  'eval',
  'eval run',
  'eval report',
  'eval list',
  'eval check',
  'store',
  'store info',
  'store prune',
  'store migrate',
  'store copy',
  'cluster',
  'cluster status',
  'backup',
  'webhooks',
  'webhooks list',
  'webhooks redrive',
]

/** Command lines that are wrong, or have nothing to work with. */
const mistakes: readonly (readonly string[])[] = [
  ['nope'],
  ['serv'],
  ['serve'],
  ['serve', 'missing.toml'],
  ['serve', 'examples/fantasy/corral.toml', '--port', 'x'],
  ['serve', 'examples/fantasy/corral.toml', '--nope'],
  ['serve', 'examples/fantasy/corral.toml', '--team', 'nobody', '--store', 'memory'],
  ['serve', 'examples/fantasy/corral.toml', '--host', '0.0.0.0', '--store', 'memory'],
  ['card', 'http://127.0.0.1:9'],
  ['card', 'not a url'],
  ['send', 'http://127.0.0.1:9', 'hello', '--json'],
  ['store', 'info', 'missing.db'],
  ['backup', 'missing.db', 'copy.db'],
  ['webhooks', 'list', 'missing.db', '--json'],
  ['eval', 'list'],
  ['--version'],
]

/** What is asked of a server that serves an example. */
const questions: readonly (readonly string[])[] = [
  ['card', 'URL'],
  ['card', 'URL', '--json'],
  ['send', 'URL', 'Write about dragons'],
  ['send', 'URL', 'Write the code and test it', '--json', '--trace'],
  ['send', 'URL', 'Explain the bug', '--stream'],
  ['send', 'URL', 'new prices', '--binding', 'rest', '--stream', '--json'],
  ['send', 'URL', 'x', '--protocol', '0.3'],
  ['send', 'URL', 'later', '--no-wait'],
  ['send', 'URL', 'x', '--task', 'unknown'],
  ['task', 'list', 'URL', '--json'],
  ['task', 'list', 'URL', '--state', 'completed', '--limit', '2'],
  ['task', 'get', 'URL', 'unknown'],
  ['console', 'URL'],
]

/** The first is asked everything, the others a few things. */
const served = ['fantasy', 'supervisor', 'publishing', 'guards']

/** Compares what the command prints, and what it says of files that are wrong. */
export async function compareCli(setup: Setup): Promise<void> {
  const commands: Pair<Command> = [prepare(setup, 0), prepare(setup, 1)]
  const lines = [
    ...helps.map((words) => [...words.split(' ').filter(Boolean), '--help']),
    ...mistakes,
  ]
  for (const [i, args] of lines.entries()) {
    await compareRun(setup, commands, args)
    setup.progress(area, i, lines.length)
  }
  await compareFiles(setup, commands)
  for (const example of served) await compareServe(setup, commands, example)
}

/** A folder with this tree's examples, in which the package `corral` is one of the builds. */
function prepare({ roots, folder }: Setup, side: 0 | 1): Command {
  const root = roots[side]
  const home = join(folder, `cli-${side}`)
  const modules = join(home, 'node_modules')
  mkdirSync(modules, { recursive: true })
  for (const name of readdirSync(join(here, 'node_modules')))
    if (name !== 'corral' && !name.startsWith('.'))
      symlinkSync(join(here, 'node_modules', name), join(modules, name))
  symlinkSync(root, join(modules, 'corral'))
  cpSync(join(here, 'examples'), join(home, 'examples'), { recursive: true })
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly bin: { readonly corral: string }
  }
  return { program: join(root, bin.corral), home }
}

async function compareRun(
  { ledger, roots }: Setup,
  commands: Pair<Command>,
  args: readonly string[],
  urls?: Pair<string>,
): Promise<void> {
  const ended = await both(commands, (command, i) => {
    const own = args.map((arg) => (arg === 'URL' ? (urls?.[i] ?? arg) : arg))
    return start(command, own).ended
  })
  ledger.of(area).cases++
  const shown = (side: 0 | 1): string => toText(ended[side], [commands[side].home, roots[side]])
  ledger.compare(area, `corral ${args.join(' ')}`, [shown(0), shown(1)])
}

/** Serves an example, asks it everything, and compares what both sides of the conversation have printed. */
async function compareServe(setup: Setup, commands: Pair<Command>, example: string): Promise<void> {
  const args = ['serve', `examples/${example}/corral.toml`, '--port', '0', '--store', 'memory']
  const running = await both(commands, async (command) => start(command, args))
  const urls = await both(running, ({ url }) => url)
  try {
    const asked = example === served[0] ? questions : questions.slice(2, 5)
    for (const question of asked) await compareRun(setup, commands, question, urls)
  } finally {
    for (const { stop } of running) stop()
  }
  const [before, after] = await both(running, ({ ended }) => ended)
  const { ledger, roots } = setup
  ledger.of(area).cases++
  ledger.compare(area, `corral ${args.join(' ')}`, [
    toText(before, [commands[0].home, roots[0]]),
    toText(after, [commands[1].home, roots[1]]),
  ])
}

/** Every example's file as it is, by the command; then hundreds of damaged ones, by the function that reads them. */
async function compareFiles(setup: Setup, commands: Pair<Command>): Promise<void> {
  const { ledger, roots, seed } = setup
  const files = readdirSync(join(here, 'examples'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.toml'),
  )
  for (const file of files.filter((_, i) => i % 6 === 0))
    await compareRun(setup, commands, ['validate', join('examples', file)])
  const random = createRandom(seed)
  const parsers = await both(roots, loadParser)
  for (let i = 0; i < 600; i++) {
    const file = random.pick(files)
    const text = damage(readFileSync(join(here, 'examples', file), 'utf8'), random)
    const read = (side: 0 | 1): string => parsers[side](text)
    ledger.of(area).cases++
    ledger.compare(area, `parseConfig of ${file}, damaged:\n${text}`, [read(0), read(1)])
  }
  for (const broken of ['', '[[agents]]\nid = = 1', '[server]\nport = 70000', '[[teams]]']) {
    const name = `broken-${broken.length}.toml`
    for (const { home } of commands) writeFileSync(join(home, name), broken)
    await compareRun(setup, commands, ['validate', name])
    await compareRun(setup, commands, ['serve', name, '--json'])
  }
}

/** Reads a configuration by one build, to its JSON or to the words of its errors. */
async function loadParser(root: string): Promise<(text: string) => string> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly default: string }>>
  }
  const file = join(root, exports['./team']?.default ?? '')
  const { parseConfig } = (await import(
    pathToFileURL(file).href
  )) as typeof import('../../src/team/index.ts') // its public entrance
  return (text) => {
    try {
      return JSON.stringify(
        parseConfig(text, { env: { MODEL_URL: 'http://127.0.0.1:9/v1' }, path: 'team.toml' }),
      )
    } catch (error) {
      return String(error)
    }
  }
}

/** Takes lines away, puts them elsewhere or misspells them. */
function damage(text: string, random: ReturnType<typeof createRandom>): string {
  const lines = text.split('\n')
  for (let i = random.between(1, 3); i > 0; i--) {
    const at = random.between(0, lines.length - 1)
    const line = lines[at] ?? ''
    const [name = '', value = ''] = line.split(' = ')
    const others = [
      '',
      `${line}x`,
      `${name}x = ${value}`,
      `${name} = 7`,
      `${name} = ""`,
      `${name} = [${value}]`,
      `${name} = -1`,
      lines[random.between(0, lines.length - 1)] ?? '',
      `${name} = "\${NOBODY}"`,
    ]
    lines[at] = random.pick(others)
  }
  return lines.join('\n')
}

interface Running {
  /** Where it serves, as it says on its output. */
  readonly url: Promise<string>
  readonly ended: Promise<Ended>
  stop(): void
}

function start({ program, home }: Command, args: readonly string[]): Running {
  const env = { ...process.env, NO_COLOR: '1', CI: '1', NODE_OPTIONS: '' }
  const child = spawn(process.execPath, [program, ...args], {
    cwd: home,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  const url = new Promise<string>((resolve) => {
    child.stdout.on('data', (chunk) => {
      stdout += chunk
      const found = /http:\/\/localhost:\d+/.exec(stdout)
      if (found) resolve(found[0])
    })
    child.once('close', () => resolve('http://127.0.0.1:9'))
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
  return { url, ended, stop: () => void child.kill('SIGTERM') }
}

/** Ids are replaced by the ledger; folders, ports, times and durations here, and the columns that are as wide as these. */
function toText({ code, stdout, stderr }: Ended, folders: readonly string[]): string {
  let text = `exit ${code}\n--- stdout\n${stdout}\n--- stderr\n${stderr}`
  for (const folder of folders)
    for (const spelling of [pathToFileURL(folder).href, folder])
      text = text.replaceAll(spelling, '⟦folder⟧')
  const timeless = text
    .replace(/(localhost|127\.0\.0\.1):\d{4,5}/g, '$1:⟦port⟧')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '⟦time⟧')
    .replace(/("(?:time|pid|ms|elapsed|duration|[a-zA-Z]*Ms)": ?)[\d.]+/g, '$1⟦n⟧')
    .replace(/(--page |"nextPageToken": ?")[A-Za-z0-9_-]+/g, '$1⟦token⟧')
    .replace(/\b\d+(\.\d+)? m?s\b/g, '⟦duration⟧')
  return timeless.includes('⟦duration⟧') ? timeless.replace(/ {2,}/g, '  ') : timeless
}
