/**
 * Runs what guides show: the files and programs of `examples/guides`, named by their paths there. Programs run in this
 * process, which is quicker, or in one of their own with the built package, as their readers have it. What is opened
 * ends with the test.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onTestFinished, vi } from 'vitest'
import { fencesOf } from '../../../scripts/markdown/page.ts'
import { loadConfig } from '../../../src/app/config/load.ts'
import { serveConfig } from '../../../src/app/serve.ts'
import {
  type ModelServer,
  type RunTeamOptions,
  runTeam,
  type TeamRun,
} from '../../../src/testing/index.ts'
import { type Ended, type Started, type StartOptions, startProcess } from '../../cli/corral.ts'
import { freePort } from '../../support/port.ts'

/** Variables of the environment. */
type Variables = Readonly<Record<string, string>>

/** How a program is run. */
export interface RunOptions {
  readonly cwd?: string
  readonly env?: Variables
  readonly args?: readonly string[]
}

const root = join(import.meta.dirname, '../../..')

/** Where a file of a guide lies. */
export function guideFile(name: string): string {
  return join(root, 'examples/guides', name)
}

/** What the page of a guide shows as the output of a command. @throws Error where it shows none. */
export function shownOutput(guide: string, command: string): string {
  const fences = fencesOf(readFileSync(join(root, `docs/guides/${guide}.md`), 'utf8'))
  const shown = fences.find(({ language }, at) => {
    const before = fences[at - 1]
    return language === 'text' && before?.language === 'sh' && before.text.endsWith(command)
  })
  if (!shown) throw new Error(`The guide ${guide} shows no output of ${command}`)
  return `${shown.text}\n`
}

let imports = 0

/** What a program exports once it has run here; it runs anew each time, and its PORT is any free one unless given. */
export async function importProgram<Exports>(name: string, env: Variables = {}): Promise<Exports> {
  for (const [key, value] of Object.entries({ PORT: '0', ...env })) vi.stubEnv(key, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  return import(`${guideFile(name)}?${++imports}`)
}

/** Runs a program here; gives the lines that it prints. */
export async function runHere(
  name: string,
  { cwd, env, args = [] }: RunOptions = {},
): Promise<readonly string[]> {
  const lines = listen()
  const folder = process.cwd()
  if (cwd !== undefined) process.chdir(cwd)
  const before = process.argv.splice(2, Infinity, ...args)
  try {
    await importProgram(name, env)
    return lines
  } finally {
    process.argv.splice(2, Infinity, ...before)
    process.chdir(folder)
  }
}

/** What programs print here from now on, line by line. */
export function listen(): readonly string[] {
  const lines: string[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((...words) => {
    lines.push(words.join(' ').trimEnd())
  })
  onTestFinished(() => log.mockRestore())
  return lines
}

/** Opens a guide's stand-in for a model; gives the variables that lead to it. */
export async function openModel(guide: string): Promise<Variables> {
  listen()
  const { model } = await importProgram<{ model: ModelServer }>(`${guide}/model.mjs`)
  onTestFinished(model.close)
  return { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'none', MODEL: 'any' }
}

/** Runs the first team or agent of a file, or the one that `team` names, with the guide's stand-in for a model. */
export async function runWithModel(
  name: string,
  message: string,
  options: RunTeamOptions = {},
): Promise<TeamRun> {
  const [guide = ''] = name.split('/')
  const env = await openModel(guide)
  return runTeam(guideFile(name), message, { logger: false, ...options, env })
}

/** Serves a file here, in memory; gives its URL. */
export async function serveFile(name: string, env: Variables = {}): Promise<string> {
  const path = guideFile(name)
  const options = { path, env, port: 0, store: 'memory', logger: false } as const
  const { listening, close } = await serveConfig(await loadConfig(path, env), options)
  onTestFinished(close)
  return listening.url
}

/** Runs a program to its end, in a process of its own. */
export function runProgram(
  name: string,
  { args = [], ...options }: RunOptions = {},
): Promise<Ended> {
  const started = startAsReader([guideFile(name), ...args], options)
  started.end()
  return started.ended
}

/**
 * Runs programs one after another in one process of their own, since most of a run is its start; gives what each printed.
 * @throws Error with what was written, where one fails or writes to stderr more than where a team starts.
 */
export async function runPrograms(
  programs: readonly { readonly name: string; readonly env?: Variables }[],
): Promise<readonly string[]> {
  const { code, stdout, stderr } = await startAsReader(toScript(programs)).ended
  const others = stderr.replace(/^Starting TeamServer on .*\n/gm, '')
  if (code !== 0 || others !== '') throw new Error(`Ended with ${code}:\n${stdout}${stderr}`)
  return stdout.split(end).slice(0, -1)
}

/** Starts a program that serves, in a process of its own; gives the URL that it prints. */
export async function serveProgram(name: string, options: StartOptions = {}): Promise<string> {
  const [url = ''] = await servePrograms([name], options)
  return url
}

/** Starts programs that serve, in one process of their own; gives the URL that each prints. */
export async function servePrograms(
  names: readonly string[],
  options: StartOptions = {},
): Promise<readonly string[]> {
  const ports = await Promise.all(names.map(freePort))
  const programs = names.map((name, index) => ({ name, env: { PORT: String(ports[index]) } }))
  const started = startAsReader(toScript(programs), options)
  const urls = ports.map((port) => started.seen(new RegExp(`http://[\\w.]+:${port}\\b`)))
  return (await Promise.all(urls)).map(([url]) => url)
}

const end = '# end\n'

/** What makes Node run programs one after another; one that comes twice is loaded twice. */
function toScript(
  programs: readonly { readonly name: string; readonly env?: Variables }[],
): readonly string[] {
  const list = programs.map(({ name, env }, index) => ({
    url: `${pathToFileURL(guideFile(name))}?${index}`,
    env,
  }))
  const script = `for (const { url, env } of ${JSON.stringify(list)}) {
    Object.assign(process.env, env)
    await import(url)
    process.stdout.write(${JSON.stringify(end)})
  }`
  return ['--input-type=module', '--eval', script]
}

/** Starts Node without what tests load to run the source, and without what readers do not have. */
function startAsReader(args: readonly string[], { env, ...options }: StartOptions = {}): Started {
  const without = {
    OPENAI_API_KEY: undefined,
    NODE_OPTIONS: undefined,
    NODE_TEST_CONTEXT: undefined,
  }
  return startProcess(process.execPath, args, { ...options, env: { ...without, ...env } })
}
