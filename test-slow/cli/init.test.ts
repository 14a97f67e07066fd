import { execFile, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { A2AClient } from '../../src/client/index.ts'
import { corral, serveHere, start, temporary } from '../../test/cli/corral.ts'
import { clerkAgent, writeFile } from '../../test/cli/files.ts'
import { flagsOf, projectForms, someForms, testEnvironment } from '../../test/cli/projects.ts'
import { hasTerminal, startInTerminal } from '../../test/cli/terminal.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const left = '\u001b[D'
const right = '\u001b[C'
const ctrlC = '\u0003'

/** The package and what runs TypeScript, as if they were installed. */
function link(project: string): void {
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(root, join(project, 'node_modules/corral'))
  symlinkSync(join(root, 'node_modules/tsx'), join(project, 'node_modules/tsx'))
}

/** The console of a project that `npm start` serves. */
async function consoleOf(project: string, language: string): Promise<void> {
  const args = language === 'toml' ? ['--', '--port', '0', '--store', 'memory'] : []
  const bin = join(project, 'node_modules/.bin')
  mkdirSync(bin)
  const command = `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'dist/cli/main.js')}" "$@"\n`
  writeFileSync(join(bin, 'corral'), command, { mode: 0o755 })
  const variables = {
    PORT: '0',
    OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
    OPENAI_API_KEY: 'k',
  }
  const server = spawn('npm', ['start', ...args], {
    cwd: project,
    env: { ...testEnvironment(), ...variables },
    detached: true,
  })
  const ended = new Promise((resolve) => server.once('close', resolve))
  try {
    let said = ''
    const page = await new Promise<string>((resolve, reject) => {
      const hear = (chunk: Buffer): void => {
        said += chunk
        const [found] = said.match(/http:\S+\/console\//) ?? []
        if (found) resolve(found)
      }
      server.stdout.on('data', hear)
      server.stderr.on('data', hear)
      server.once('close', () => reject(new Error(`It ended:\n${said}`)))
    })
    expect((await fetch(page)).headers.get('content-type')).toContain('text/html')
  } finally {
    if (server.exitCode === null && server.pid) process.kill(-server.pid, 'SIGTERM')
    await ended
  }
}

describe('corral init', () => {
  test('writes a team that is valid and answers, before anything is installed', async () => {
    const directory = join(temporary(), 'team')
    expect((await corral(['init', directory])).code).toBe(0)
    const file = join(directory, 'corral.toml')
    expect((await corral(['validate', file])).code).toBe(0)
    const client = new A2AClient(await serveHere(file))
    expect(await client.run('good morning')).toBe('Hello, you wrote: good morning.')
    await client.close()
  })

  test.each(someForms.slice(0, 2))(
    'writes a project that passes its own test: $language, $kind, $answers',
    async (form) => {
      const project = join(temporary(), 'my-project')
      expect(await corral(['init', project, ...flagsOf(form)])).toMatchObject({ code: 0 })
      link(project)
      const env = testEnvironment()
      const { stdout } = await run('npm', ['test'], { cwd: project, env })
      expect(stdout).toMatch(/pass 1\b/)
      const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
      expect(manifest).toMatchObject({ name: 'my-project', private: true, type: 'module' })
      expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(['start', 'test']))
      expect(manifest.scripts.start).toContain('--watch')
      await consoleOf(project, form.language)
      expect(existsSync(join(project, '.env.example'))).toBe(form.answers === 'model')
      expect(readFileSync(join(project, '.gitignore'), 'utf8')).toContain('.env\n')
    },
  )

  test.each(projectForms.filter(({ language }) => language === 'toml'))(
    'writes a file that is valid and of the published schema: $kind, $answers',
    async (form) => {
      const project = join(temporary(), 'my-project')
      await corral(['init', project, ...flagsOf(form)])
      link(project)
      const file = join(project, 'corral.toml')
      const [, schema = ''] = readFileSync(file, 'utf8').match(/^#:schema (\S+)\n/) ?? []
      expect(existsSync(join(project, schema))).toBe(true)
      writeFileSync(
        join(project, '.env'),
        'OPENAI_BASE_URL=http://127.0.0.1:1/v1\nOPENAI_API_KEY=k\n',
      )
      const env = { OPENAI_BASE_URL: undefined, OPENAI_API_KEY: undefined }
      const found = await corral(['validate', file, '--env', join(project, '.env')], { env })
      expect(found).toMatchObject({ code: 0, stderr: '' })
    },
  )

  test('takes the defaults with --yes, and lists its files as JSON', async () => {
    const directory = join(temporary(), 'team')
    const { stdout } = await corral(['init', directory, '--yes', '--json'])
    const { files, kept } = JSON.parse(stdout)
    const written = readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .map((name) => join(directory, name))
      .filter((path) => statSync(path).isFile())
    expect(written.sort()).toEqual([...files].sort())
    expect(written).toContain(join(directory, 'agents/greeter.mjs'))
    expect(kept).toBeUndefined()
  })

  test('leaves files alone that are there, and writes none', async () => {
    const directory = temporary()
    const file = writeFile(directory)
    const before = readdirSync(directory)
    const { code, stderr } = await corral(['init', directory])
    expect(code).toBe(2)
    expect(stderr).toContain(`${file} is already there`)
    expect(readFileSync(file, 'utf8')).toBe(clerkAgent())
    expect(readdirSync(directory)).toEqual(before)
  })

  test('goes into a package that is there, keeps its manifest, and says what to do then', async () => {
    const directory = temporary()
    writeFileSync(join(directory, 'package.json'), '{"name":"mine"}')
    const { code, stdout } = await corral(['init', directory])
    expect(code).toBe(0)
    expect(stdout).toContain(`left ${join(directory, 'package.json')} as it was`)
    expect(stdout).toContain('npm install corral\n')
    expect(stdout).not.toContain('npm start')
    expect(readFileSync(join(directory, 'package.json'), 'utf8')).toBe('{"name":"mine"}')
    link(directory)
    const [, command = ''] = stdout.match(/node (--test \S+)/) ?? []
    const env = testEnvironment()
    const ran = await run(process.execPath, command.split(' '), { cwd: directory, env })
    expect(ran.stdout).toMatch(/pass 1\b/)
  })

  test.each([
    ['--language', 'yaml'],
    ['--kind', 'swarm'],
    ['--model', 'a"b'],
    ['--model', 'gpt-test', '--offline'],
  ])('refuses %s %s %s, and writes nothing', async (...flags) => {
    const directory = join(temporary(), 'team')
    const { code, stderr } = await corral(['init', directory, ...flags])
    expect(code).toBe(2)
    expect(stderr).toContain(flags.at(-1))
    expect(existsSync(directory)).toBe(false)
  })

  test('calls the command through npx where the shell does not find it', async () => {
    const directory = temporary()
    const bin = join(directory, 'bin')
    mkdirSync(bin)
    const env = { PATH: bin, npm_command: undefined }
    const without = await corral(['init', join(directory, 'a')], { env })
    expect(without.stdout).toContain('\n  npx corral chat http://localhost:3000\n')
    writeFileSync(join(bin, 'corral'), '')
    const within = await corral(['init', join(directory, 'b')], { env })
    expect(within.stdout).toContain('\n  corral chat http://localhost:3000\n')
    const byNpx = await corral(['init', join(directory, 'c')], {
      env: { ...env, npm_command: 'exec' },
    })
    expect(byNpx.stdout).toContain('\n  npx corral chat http://localhost:3000\n')
  })
})

describe.runIf(hasTerminal)('corral init in a terminal', () => {
  test('asks with arrow keys and numbers, and writes what was chosen', async () => {
    const directory = join(temporary(), 'team')
    const init = startInTerminal(['init', directory])
    await init.seen(/Language: \[1 TOML\] {2}2 TypeScript/)
    init.write(right)
    await init.seen(/Language: {2}1 TOML {2}\[2 TypeScript\]/)
    init.write('\r')
    await init.seen(/Kind: \[1 workflow\]/)
    init.write('4')
    await init.seen(/\[4 single agent\]/)
    init.write(left)
    await init.seen(/\[3 router\]/)
    init.write('\r')
    await init.seen(/Answers: \[1 offline, by functions\]/)
    init.write('2\r')
    await init.seen(/Model \[gpt-4\.1-mini\]: /)
    init.write('qwen3\r')
    const { code, stdout } = await init.ended
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /Next:[\s\S]*npm install\r?\n {2}npm test\r?\n {2}cp \.env\.example \.env/,
    )
    const team = readFileSync(join(directory, 'src/team.ts'), 'utf8')
    expect(team).toContain("model: 'qwen3'")
    expect(team).toContain("type: 'router'")
  })

  test('takes the defaults when Enter is all that is pressed', async () => {
    const directory = join(temporary(), 'team')
    const init = startInTerminal(['init', directory])
    for (const question of [/Language: /, /Kind: /, /Answers: /]) {
      await init.seen(question)
      init.write('\r')
    }
    expect((await init.ended).code).toBe(0)
    expect(existsSync(join(directory, 'agents/greeter.mjs'))).toBe(true)
  })

  test('asks only what the flags leave open', async () => {
    const directory = join(temporary(), 'team')
    const init = startInTerminal(['init', directory, '--language', 'ts', '--offline'])
    await init.seen(/Kind: /)
    init.write('\r')
    const { code, stdout } = await init.ended
    expect(code).toBe(0)
    expect(stdout).not.toMatch(/Language:|Answers:/)
    expect(existsSync(join(directory, 'src/team.ts'))).toBe(true)
  })

  test.each([[[]], [['\r', '\r', '2\r']]])(
    'Ctrl-C leaves after %j, and nothing is written',
    async (keys) => {
      const directory = join(temporary(), 'team')
      const init = startInTerminal(['init', directory])
      const questions = [/Language: /, /Kind: /, /Answers: /, /Model \[/]
      for (const [index, question] of questions.entries()) {
        await init.seen(question)
        const key = keys[index]
        init.write(key ?? ctrlC)
        if (key === undefined) break
      }
      const { code, stdout } = await init.ended
      expect(code).toBe(1)
      expect(stdout).toContain('Nothing was written')
      expect(existsSync(directory)).toBe(false)
    },
  )

  test('asks nothing with --yes', async () => {
    const directory = join(temporary(), 'team')
    const { code, stdout } = await startInTerminal(['init', directory, '--yes']).ended
    expect(code).toBe(0)
    expect(stdout).not.toContain('Language:')
  })
})

describe('a file of variables', () => {
  const text = clerkAgent('clerk', `\${CLERK_NAME}`)

  test('gives what the environment does not have', async () => {
    const directory = temporary()
    const file = writeFile(directory, text)
    const variables = join(directory, '.env')
    expect((await corral(['validate', file, '--env', variables])).code).toBe(1)
    writeFileSync(variables, 'CLERK_NAME=Bartleby\n')
    const named = async (env: Record<string, string>): Promise<string> => {
      const args = ['serve', file, '--env', variables, '--port', '0', '--store', 'memory']
      const served = start(args, { env })
      const [, name = ''] = await served.seen(/(\w+) is served at/)
      served.signal('SIGTERM')
      await served.ended
      return name
    }
    expect(await named({})).toBe('Bartleby')
    expect(await named({ CLERK_NAME: 'Turkey' })).toBe('Turkey')
  })
})
