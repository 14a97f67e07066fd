import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { toId } from '../../agents/index.ts'
import { addCommand, exits } from '../command.ts'
import { CliError } from '../errors.ts'
import { ownName } from '../hints.ts'
import { type Choices, kinds, languages } from '../project/form.ts'
import { type Project, toProject } from '../project/project.ts'
import type { ProjectFacts } from '../project/surroundings.ts'
import { askFor, askToChoose, canAsk } from '../questions.ts'
import { stdout } from '../screen.ts'

/** What is offered where nobody names a model. */
const usualModel = 'gpt-4.1-mini'

interface InitFlags extends Partial<Choices> {
  readonly offline?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

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

function checkedModel(name: string): string {
  if (/^[\w./:@-]{1,200}$/.test(name)) return name
  throw new CliError(`"${name}" cannot be the name of a model`, {
    hint: `Give the name as the service writes it, such as --model ${usualModel}.`,
  })
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
      `${corral} serve corral.toml${variables}`,
    ]
  const run = runsTypeScript() ? 'node' : 'npx tsx'
  const test = `${run} --test test/${kind === 'agent' ? 'agent' : 'team'}.test.ts`
  return [['npm pkg set type=module', 'npm install corral'], test, `${run} src/main.ts`]
}

function runsTypeScript(): boolean {
  return 'typescript' in process.features && Boolean(process.features.typescript)
}
