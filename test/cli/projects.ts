import { execFile, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { packInto } from '../../scripts/package/tarball.ts'
import { A2AClient } from '../../src/client/index.ts'
import { type ModelScript, openModelServer } from '../../src/testing/index.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** A form of what `corral init` writes. */
export interface ProjectForm {
  readonly language: 'toml' | 'ts'
  readonly kind: 'workflow' | 'supervisor' | 'router' | 'agent'
  readonly answers: 'offline' | 'model'
}

/** All forms that there are. */
export const projectForms: readonly ProjectForm[] = (['toml', 'ts'] as const).flatMap((language) =>
  (['workflow', 'supervisor', 'router', 'agent'] as const).flatMap((kind) =>
    (['offline', 'model'] as const).map((answers) => ({ language, kind, answers })),
  ),
)

/** One of each kind, and of each language and way to answer two; `npm run test:slow` takes all of them. */
export const someForms: readonly ProjectForm[] = [
  { language: 'toml', kind: 'workflow', answers: 'offline' },
  { language: 'ts', kind: 'agent', answers: 'model' },
  { language: 'toml', kind: 'router', answers: 'model' },
  { language: 'ts', kind: 'supervisor', answers: 'offline' },
]

/** The flags that ask for a form. */
export function flagsOf({ language, kind, answers }: ProjectForm): readonly string[] {
  const answer = answers === 'offline' ? ['--offline'] : ['--model', 'gpt-test']
  return ['--language', language, '--kind', kind, ...answer]
}

/** What the server of a form is asked, what the models say to that, and what comes of it. */
const exchanges: Readonly<
  Record<ProjectForm['kind'], { text: string; offline: string; script: ModelScript; model: string }>
> = {
  workflow: {
    text: 'good morning',
    offline: 'Hello, you wrote: good morning.',
    script: ['hello', 'Hello.'],
    model: 'Hello.',
  },
  supervisor: {
    text: 'a parcel',
    offline: 'Shipping has read: a parcel',
    script: [
      { tools: [{ name: 'delegate_to_shipping', arguments: { message: 'find it' } }] },
      'in Bern',
      'It is in Bern.',
    ],
    model: 'It is in Bern.',
  },
  router: {
    text: 'a parcel',
    offline: 'Shipping has read: a parcel',
    script: [{ tools: [{ name: 'transfer_to_shipping', arguments: {} }] }, 'It is in Bern.'],
    model: 'It is in Bern.',
  },
  agent: {
    text: 'good morning',
    offline: 'hello, you wrote: good morning',
    script: ['Good morning.'],
    model: 'Good morning.',
  },
}

/** This package, packed for others to install. */
export interface PackedHome {
  readonly directory: string
  /** Makes a project, installs the package into it, lets it test itself, starts it and talks with it. */
  prove(form: ProjectForm): Promise<void>
  remove(): Promise<void>
}

/** Packs this package and installs it where its command is called from. */
export async function packHome(): Promise<PackedHome> {
  const directory = mkdtempSync(join(tmpdir(), 'corral-projects-'))
  const { path: tarball } = await packInto(directory, root)
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...quiet, '--prefix', directory, tarball], { cwd: directory })
  const corral = join(directory, 'node_modules/.bin/corral')
  return {
    directory,
    async prove(form) {
      const project = join(directory, `${form.language}-${form.kind}-${form.answers}`)
      await run(corral, ['init', project, ...flagsOf(form)])
      await run('npm', ['install', ...quiet, tarball], { cwd: project })
      const { stdout } = await run('npm', ['test'], { cwd: project, env: testEnvironment() })
      expect(stdout).toMatch(/pass 1\b/)
      expect(stdout).toMatch(/fail 0\b/)
      if (form.language === 'ts') await run('npm', ['run', 'check'], { cwd: project })
      await talk(project, form)
      await rm(project, { recursive: true, force: true })
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}

/** What a runner around us says to its own children is not meant for the project's. */
export function testEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS, NODE_TEST_CONTEXT, ...env } = process.env
  return env
}

/** Starts a project as its author would, and talks with it as anybody would. */
async function talk(project: string, { language, kind, answers }: ProjectForm): Promise<void> {
  const { text, offline, script, model } = exchanges[kind]
  const service = await openModelServer(script)
  const port = language === 'toml' ? ['--', '--port', '0', '--store', 'memory'] : []
  const variables = { PORT: '0', OPENAI_BASE_URL: service.url, OPENAI_API_KEY: 'none' }
  const server = spawn('npm', ['start', ...port], {
    cwd: project,
    env: { ...testEnvironment(), ...variables },
    detached: true,
  })
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let said = ''
      const hear = (chunk: Buffer): void => {
        said += chunk
        const [, found] = said.match(/is served at (\S+)/) ?? []
        if (found) resolve(found)
      }
      server.stdout.on('data', hear)
      server.stderr.on('data', hear)
      server.once('close', () => reject(new Error(`It ended:\n${said}`)))
    })
    const client = new A2AClient(url)
    expect(await client.run(text)).toBe(answers === 'offline' ? offline : model)
    await client.close()
  } finally {
    const ended = new Promise((resolve) => server.once('close', resolve))
    // npm, its shell and the server: the group is the one that was started here.
    if (server.exitCode === null && server.pid) process.kill(-server.pid, 'SIGTERM')
    await Promise.all([ended, service.close()])
  }
}
