import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { emitKeypressEvents } from 'node:readline'
import { type Command, Option } from 'commander'
import { toId } from '../../agents/function.ts'
import { addCommand, exits } from '../command.ts'
import { CliError, ownName } from '../errors.ts'
import { type Project, type ProjectFacts, toProject } from '../project/files.ts'
import { type Choices, kinds, languages } from '../project/forms.ts'
import { createLines, stdout } from '../screen.ts'

/** Adds `corral init`. */
export function addInitCommand(program: Command): void {
  addCommand(program, {
    usage: 'init [directory]',
    description:
      'write a project to begin with, and ask what it is to be; files that are there are left alone',
    examples: [
      'corral init my-team',
      'corral init my-team --language ts --kind supervisor --model gpt-4.1-mini',
      'corral init my-team --yes && corral serve my-team/corral.toml --watch',
    ],
  })
    .addOption(
      new Option('--language <language>', 'what it is written in (default: toml)').choices(
        languages,
      ),
    )
    .addOption(
      new Option('--kind <kind>', 'how the agents work together (default: workflow)').choices(
        kinds,
      ),
    )
    .option('--model <name>', 'a model of an OpenAI-compatible service answers')
    .addOption(new Option('--offline', 'functions answer, the default').conflicts('model'))
    .option('-y, --yes', 'take the default for what is not said, and ask nothing')
    .action(exits(initCommand))
}

interface InitFlags extends Partial<Choices> {
  readonly offline?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

async function initCommand(directory = '.', flags: InitFlags = {}): Promise<number> {
  const choices = await choicesOf(flags)
  const project = toProject({ ...choices, ...factsOf(directory) })
  const pathOf = (name: string): string => join(directory, name)
  const there = Object.keys(project.own)
    .map(pathOf)
    .find((path) => existsSync(path))
  if (there)
    throw new CliError(`${there} is already there`, {
      hint: 'Choose another directory: corral init DIRECTORY.',
    })
  const names = Object.keys({ ...project.around, ...project.own })
  const kept = names.filter((name) => existsSync(pathOf(name)))
  const written = names.filter((name) => !kept.includes(name))
  await write(directory, project, written)
  const [files, left] = [written.map(pathOf), kept.map(pathOf)]
  stdout.write(
    flags.json
      ? `${JSON.stringify({ files, ...(left.length > 0 && { kept: left }) })}\n`
      : `${toLines(files, left)}\n\n${toNextSteps(directory, choices, kept)}\n`,
  )
  return 0
}

const languageOptions = [
  { value: 'toml', label: 'TOML' },
  { value: 'ts', label: 'TypeScript' },
] as const

const kindOptions = [
  { value: 'workflow', label: 'workflow' },
  { value: 'supervisor', label: 'supervisor' },
  { value: 'router', label: 'router' },
  { value: 'agent', label: 'single agent' },
] as const

const answerOptions = [
  { value: true, label: 'offline, by functions' },
  { value: false, label: 'by a model' },
] as const

/** What is offered where nobody names a model. */
const usualModel = 'gpt-4.1-mini'

/** What was said, what a person answers, and the defaults for the rest. */
async function choicesOf(flags: InitFlags): Promise<Choices> {
  const asks = canAsk() && !flags.yes && !flags.json
  const language =
    flags.language ?? (asks ? await askToChoose('Language', languageOptions) : 'toml')
  const kind = flags.kind ?? (asks ? await askToChoose('Kind', kindOptions) : 'workflow')
  if (flags.model !== undefined) return { language, kind, model: checkedModel(flags.model) }
  const isOffline = flags.offline || !asks || (await askToChoose('Answers', answerOptions))
  if (isOffline) return { language, kind }
  return { language, kind, model: checkedModel(await askFor('Model', usualModel)) }
}

/** Whether a person can be asked: both what they type and what they read is a terminal. */
function canAsk(): boolean {
  return Boolean(process.stdin.isTTY) && stdout.isTTY
}

/** One of several answers. */
interface Choice<T> {
  readonly value: T
  readonly label: string
}

interface PressedKey {
  readonly name?: string
  readonly ctrl?: boolean
}

/**
 * Lets a person choose in a terminal, with arrow keys or numbers and Enter; the first is the default.
 * @throws CliError where they leave with Ctrl-C.
 */
async function askToChoose<T>(
  question: string,
  options: readonly [Choice<T>, ...Choice<T>[]],
): Promise<T> {
  const { stdin } = process
  let chosen: Choice<T> = options[0]
  const show = (): void => stdout.rewrite(`${question}: ${toRow(options, chosen)}`)
  // Before the question is seen: until then the terminal itself takes Ctrl-C, and ends the process.
  emitKeypressEvents(stdin)
  stdin.setRawMode(true).resume()
  show()
  try {
    return await new Promise<T>((resolve, reject) => {
      stdin.on('keypress', function press(text: string | undefined, key: PressedKey) {
        if (key.ctrl && (key.name === 'c' || key.name === 'd')) {
          stdin.off('keypress', press)
          reject(leaving())
        } else if (key.name === 'return' || key.name === 'enter') {
          stdin.off('keypress', press)
          resolve(chosen.value)
        } else {
          chosen =
            options[placeAfter(options.indexOf(chosen), options.length, key.name ?? text)] ?? chosen
          show()
        }
      })
    })
  } finally {
    stdin.setRawMode(false).pause()
    stdout.write('\n')
  }
}

function toRow<T>(options: readonly Choice<T>[], chosen: Choice<T>): string {
  return options
    .map((option, index) => {
      const words = `${index + 1} ${option.label}`
      return option === chosen ? `[${words}]` : ` ${words} `
    })
    .join(' ')
}

function leaving(): CliError {
  return new CliError('Nothing was written', { exitCode: 1 })
}

/** Where a key leads; the ends are joined. */
function placeAfter(place: number, count: number, key = ''): number {
  if (key === 'right' || key === 'down' || key === 'tab') return (place + 1) % count
  if (key === 'left' || key === 'up') return (place + count - 1) % count
  const number = Number(key)
  return Number.isInteger(number) && number >= 1 && number <= count ? number - 1 : place
}

function checkedModel(name: string): string {
  if (/^[\w./:@-]{1,200}$/.test(name)) return name
  throw new CliError(`"${name}" cannot be the name of a model`, {
    hint: `Give the name as the service writes it, such as --model ${usualModel}.`,
  })
}

/**
 * Asks a person for a text; an empty line is the default.
 * @throws CliError where they leave with Ctrl-C or Ctrl-D.
 */
async function askFor(question: string, initial: string): Promise<string> {
  const lines = createLines({ interrupted: () => lines.close(), typed: () => false })
  const line = await lines.ask(`${question} [${initial}]: `)
  lines.close()
  if (line === undefined) throw leaving()
  return line.trim() || initial
}

function factsOf(directory: string): Omit<ProjectFacts, keyof Choices> {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  const { version, devDependencies } = JSON.parse(manifest)
  return {
    name: toId(basename(resolve(directory))),
    versions: { corral: version, ...devDependencies },
    runsTypeScript: runsTypeScript(),
  }
}

function runsTypeScript(): boolean {
  return 'typescript' in process.features && Boolean(process.features.typescript)
}

async function write(
  directory: string,
  { own, around }: Project,
  names: readonly string[],
): Promise<void> {
  const files = { ...around, ...own }
  for (const name of names) {
    const path = join(directory, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, files[name] ?? '', { flag: 'wx' })
  }
}

function toLines(files: readonly string[], left: readonly string[]): string {
  return [
    ...files.map((path) => `wrote ${path}`),
    ...left.map((path) => `left ${path} as it was`),
  ].join('\n')
}

function toNextSteps(directory: string, choices: Choices, kept: readonly string[]): string {
  const corral = ownName()
  const isOurs = !kept.includes('package.json')
  const [install, test, start] = isOurs
    ? [['npm install'], 'npm test', 'npm start']
    : stepsWithin(choices, corral)
  const all = [
    ...(resolve(directory) === process.cwd() ? [] : [`cd ${directory}`]),
    ...install,
    test,
    ...(choices.model === undefined ? [] : ['cp .env.example .env    # then fill in the key']),
    start,
    `${corral} chat http://localhost:3000`,
  ]
  return `Next:\n${all.map((step) => `  ${step}`).join('\n')}`
}

/** To install, test and start a project whose manifest is somebody else's. */
function stepsWithin(
  { language, kind, model }: Choices,
  corral: string,
): readonly [install: readonly string[], test: string, start: string] {
  const variables = model === undefined ? '' : ' --env .env'
  if (language === 'toml')
    return [
      ['npm install corral'],
      'node --test test/team.test.mjs',
      `${corral} serve corral.toml --watch${variables}`,
    ]
  const run = runsTypeScript() ? 'node' : 'npx tsx'
  const test = `${run} --test test/${kind === 'agent' ? 'agent' : 'team'}.test.ts`
  const start = runsTypeScript() ? 'node --watch src/main.ts' : 'npx tsx watch src/main.ts'
  return [['npm pkg set type=module', 'npm install corral'], test, start]
}
