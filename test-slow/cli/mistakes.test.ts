import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { corral, type Ended, serve, serveHere, start, temporary } from '../../test/cli/corral.ts'
import { clerkAgent, writeFile } from '../../test/cli/files.ts'
import { corralMany } from '../../test/cli/many.ts'
import { selfSigned as certificate } from '../../test/client/self-signed.ts'

/**
 * What beginners get wrong, and what they are told: the words, the hint and the exit code of each mistake, as the built
 * command gives them.
 */

/** An address of this machine, where somebody listens for the time of the test. */
async function listening(server: Server): Promise<string> {
  onTestFinished(() => server.close().closeAllConnections())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  return `127.0.0.1:${port}`
}

/** A page, as any web server has one. */
function page(status = 200): Server {
  return createServer((_request, response) => {
    response.statusCode = status
    response.end('<html><body>Welcome</body></html>')
  })
}

const member = (id: string) => `\n[[teams.agents]]\nagent_id = "${id}"\n`

const team = (lines: string) => `${clerkAgent()}
[[teams]]
id = "desk"
name = "Desk"
description = ""
${lines}`

const agent = (endpoint: string) => clerkAgent().replace('./clerk.mjs', endpoint)

const model = `
[[agents]]
id = "model"
name = "Model"
endpoint = "https://api.openai.com/v1"
protocol = "openai"
`

const circle = ['one', 'two'].map((id, index) => {
  const other = index === 0 ? 'two' : 'one'
  return `
[[teams]]
id = "${id}"
name = "Team"
description = ""
router_config = { default_agent_id = "${other}" }
${member(other)}`
})

interface FileMistake {
  readonly name: string
  readonly text: string
  /** Files beside it. */
  readonly beside?: Readonly<Record<string, string>>
  /** Where in the file, what is wrong, and what to do. */
  readonly says: string
}

/** Mistakes in a file; `validate` and `serve` say the same of each, and both end with 1. */
const inFiles: readonly FileMistake[] = [
  {
    name: 'a typo in a key',
    text: clerkAgent().replace('name =', 'nmae ='),
    says: ':4:1: unknown key nmae (did you mean name?)',
  },
  {
    name: 'a typo in the type of a scheduler',
    text: team(`${member('clerk')}[teams.scheduler_config]\ntype = "superviser"\n`),
    says: ':16:1: teams.scheduler_config.type: invalid option: expected one of "supervisor"|"workflow" (did you mean supervisor?)',
  },
  {
    name: 'a typo in the name of a member',
    text: team(`${member('clrek')}[teams.router_config]\ndefault_agent_id = "clrek"\n`),
    says: ':14:1: Team "desk": agent "clrek" is not registered (did you mean clerk?)',
  },
  {
    name: 'a step that names nobody',
    text: team(
      `${member('clerk')}[[teams.scheduler_config.steps]]\nparallel = [{ agent_id = "clerk" }, { agent_id = "clark" }]\n[teams.scheduler_config]\ntype = "workflow"\n`,
    ),
    says: ':16:39: Team "desk": a step names "clark", which is not a member (did you mean clerk?)',
  },
  {
    name: 'an id that is used twice',
    text: `${clerkAgent()}${clerkAgent()}`,
    says: ':9:1: the id clerk is used twice (agents and teams share their ids; rename one)',
  },
  {
    name: 'an empty file',
    text: '',
    says: ':1:1: the file has neither agents nor teams ("corral init" writes one to begin with)',
  },
  {
    name: 'JSON instead of TOML',
    text: '{ "agents": [] }',
    says: ':1:1: Invalid TOML document: illegal character in key (this is JSON; Corral reads TOML, as "corral init" writes it)',
  },
  {
    name: 'YAML instead of TOML',
    text: 'agents:\n  - id: clerk\n',
    says: ':1:7: Invalid TOML document: illegal character in key (this looks like YAML; TOML writes key = "value")',
  },
  {
    name: 'curly quotes',
    text: clerkAgent().replace('"Clerk"', '“Clerk”'),
    says: ':4:8: Invalid TOML document: invalid value (use straight quotes: ")',
  },
  {
    name: 'a text without quotes',
    text: clerkAgent().replace('"Clerk"', 'Clerk'),
    says: ':4:8: Invalid TOML document: invalid value (a text stands in quotes: "Clerk")',
  },
  {
    name: 'a variable that is not set',
    text: `${model}metadata = { api_key = "\${MY_MISSING_KEY}" }\n`,
    says: ':7:14: the variable MY_MISSING_KEY is not set (set it where the command runs, MY_MISSING_KEY=…, or write $${MY_MISSING_KEY} for the text itself)',
  },
  {
    name: 'a model without a key',
    text: model,
    says: ':2:1: Missing required field: metadata.api_key (or set the variable OPENAI_API_KEY)',
  },
  {
    name: 'teams that contain each other',
    text: clerkAgent() + circle.join(''),
    says: ':15:1: Team "one": a team cannot contain itself (one > two > one)',
  },
  {
    name: 'a workflow without steps',
    text: team(`${member('clerk')}[teams.scheduler_config]\ntype = "workflow"\n`),
    says: ':15:8: Team "desk": a workflow needs at least one step',
  },
  {
    name: 'a supervisor who is not named',
    text: team(`${member('clerk')}[teams.scheduler_config]\ntype = "supervisor"\n`),
    says: ':15:8: teams.scheduler_config: needs a supervisor_agent_id',
  },
  {
    name: 'a supervisor who is no member',
    text: team(
      `${member('clerk')}[teams.scheduler_config]\ntype = "supervisor"\nsupervisor_agent_id = "boss"\n`,
    ),
    says: ':17:1: Team "desk": supervisor "boss" is not a member (known: clerk)',
  },
  {
    name: 'a module that is not there',
    text: agent('./clark.mjs'),
    says: ':5:1: Agent "clerk": Invalid field value for endpoint: ./clark.mjs (there is no such file)',
  },
  {
    name: 'a module that does not parse',
    text: agent('./broken.mjs'),
    beside: { 'broken.mjs': 'export default () => {\n  return "a" +\n}\n' },
    says: "(cannot be loaded: broken.mjs:3:1: Unexpected token '}')",
  },
  {
    name: 'a module that imports one that does not parse',
    text: agent('./whole.mjs'),
    beside: {
      'whole.mjs': 'import "./broken.mjs"\nexport default () => "a"\n',
      'broken.mjs': 'const a = 1\n  const a = 2\n',
    },
    says: "(cannot be loaded: broken.mjs:2:9: Identifier 'a' has already been declared)",
  },
  {
    name: 'a module that throws while it is loaded',
    text: agent('./throws.mjs'),
    beside: { 'throws.mjs': 'const key = 1\nthrow new Error("no key")\n' },
    says: '(cannot be loaded: throws.mjs:2:7: no key)',
  },
  {
    name: 'a module without a default export',
    text: agent('./empty.mjs'),
    beside: { 'empty.mjs': 'export const answer = () => "a"\n' },
    says: '(it has no default export, so no agent and no function; write: export default (message) => "an answer")',
  },
  {
    name: 'a module whose package is not installed',
    text: agent('./needs.mjs'),
    beside: { 'needs.mjs': 'import "no-such-package"\nexport default () => "a"\n' },
    says: "Cannot find package 'no-such-package' imported from ./needs.mjs",
  },
  ...('typescript' in process.features && process.features.typescript
    ? []
    : [
        {
          name: 'TypeScript on a Node that does not run it',
          text: agent('./typed.ts'),
          beside: { 'typed.ts': 'export default (text: string) => text\n' },
          says: `Node ${process.version} does not run TypeScript: use Node 22.18 or newer`,
        },
      ]),
]

const commands = ['validate', 'serve'] as const

/** What both commands say of each. */
async function runFiles(): Promise<readonly Ended[]> {
  const files = inFiles.map(({ text, beside = {} }) => {
    const directory = temporary()
    for (const [name, content] of Object.entries(beside))
      writeFileSync(join(directory, name), content)
    return writeFile(directory, text)
  })
  const place = ['--port', '0', '--store', 'memory']
  const runs = files.flatMap((file) =>
    commands.map((command) => ({ args: [command, file, ...(command === 'serve' ? place : [])] })),
  )
  return corralMany(runs, { OPENAI_API_KEY: undefined })
}

describe('a mistake in a file', () => {
  let runs: Promise<readonly Ended[]> | undefined

  test.each(inFiles.map((mistake, index) => ({ ...mistake, index })))(
    '$name',
    async ({ says, index }) => {
      runs ??= runFiles()
      const [checked, served] = (await runs).slice(index * commands.length)
      expect(checked).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(says) })
      const stderr = `${checked?.stderr}Correct the file and try again.\n`
      expect(served).toEqual({ code: 1, stdout: '', stderr })
      expect(stderr).not.toMatch(/^\s+at /m)
    },
  )
})

interface Mistake {
  readonly name: string
  /** What is written after `corral`; gets the address of an agent that runs. */
  args(url: string): readonly string[] | Promise<readonly string[]>
  readonly code: 1 | 2
  /** What is said, and what to do. */
  readonly says: readonly string[]
}

const demo = 'Is it running? "npx corral demo" starts an agent at http://localhost:3000.'
const noAgent = 'No A2A agent answers there: is the address right?'
const help = 'Run it with --help to see how it is used.'

/** Mistakes on the command line, and in whom it speaks to. */
const onTheLine: readonly Mistake[] = [
  {
    name: 'a file that is not there',
    args: () => ['serve', 'team.toml'],
    code: 2,
    says: ['There is no file team.toml', '"npx corral init" writes one to begin with.'],
  },
  {
    name: 'a file with another name',
    args: () => ['serve', join(writeFile(temporary()), '../teams.toml')],
    code: 2,
    says: ['There is no file', 'There is ', 'corral.toml'],
  },
  {
    name: 'a directory instead of a file',
    args: () => ['serve', join(writeFile(temporary()), '..')],
    code: 2,
    says: [' is a directory', 'Name the file in it: ', 'corral.toml'],
  },
  {
    name: 'a team that is not there',
    args: () => ['serve', writeFile(temporary()), '--store', 'memory', '--team', 'clark'],
    code: 2,
    says: ['There is no team or agent "clark" in the file; did you mean clerk? (there are clerk)'],
  },
  {
    name: 'a port that is in use',
    args: (url) => ['serve', writeFile(temporary()), '--store', 'memory', '--port', portOf(url)],
    code: 2,
    says: ['is already in use; choose another with --port'],
  },
  {
    name: 'a port that is no number',
    args: () => ['serve', 'team.toml', '--port', 'http'],
    code: 2,
    says: ['A port is a number from 0 to 65535.', help],
  },
  {
    name: 'an unknown flag',
    args: () => ['serve', 'team.toml', '--prot', '1'],
    code: 2,
    says: ["unknown option '--prot'", 'Did you mean --port?', help],
  },
  {
    name: 'an unknown command',
    args: () => ['sned', 'http://localhost:3000', 'hi'],
    code: 2,
    says: ["unknown command 'sned'", 'Did you mean send?', help],
  },
  {
    name: 'a missing argument',
    args: () => ['serve'],
    code: 2,
    says: ["missing required argument 'file'", help],
  },
  {
    name: 'a message without a text',
    args: (url) => ['send', url],
    code: 2,
    says: ["missing required argument 'text'", help],
  },
  {
    name: 'a text from a stdin that is closed',
    args: (url) => ['send', url, '-'],
    code: 1,
    says: ['has no content', 'Write the text after the URL, or "-" to read it from stdin.'],
  },
  {
    name: 'a URL without its scheme',
    args: () => ['send', 'localhost:3000', 'hi'],
    code: 2,
    says: ['"localhost:3000" is no URL', 'Write it as http://localhost:3000.'],
  },
  {
    name: 'a server that does not run',
    args: () => ['send', 'http://127.0.0.1:1', 'hi'],
    code: 2,
    says: ['Cannot connect to 127.0.0.1:1', demo],
  },
  {
    name: 'a host that does not exist',
    args: () => ['send', 'http://nowhere.invalid', 'hi'],
    code: 2,
    says: [
      'Cannot connect to nowhere.invalid',
      'There is no host of this name: is it spelt right?',
    ],
  },
  {
    name: 'a web page',
    args: async () => ['send', `http://${await listening(page())}`, 'hi'],
    code: 2,
    says: ['/.well-known/agent-card.json is not JSON', noAgent],
  },
  {
    name: 'a web server without a card',
    args: async () => ['send', `http://${await listening(page(404))}`, 'hi'],
    code: 2,
    says: ['No agent card at http://127.0.0.1:', noAgent],
  },
  {
    name: 'https where there is only http',
    args: (url) => ['send', url.replace('http:', 'https:'), 'hi'],
    code: 2,
    says: ['It does not speak TLS there: write http:// instead of https://.'],
  },
  {
    name: 'http where there is only https',
    args: async () => ['send', `http://${await listening(createTlsServer(certificate))}`, 'hi'],
    code: 2,
    says: ['Where it speaks TLS, write https:// instead of http://.'],
  },
  {
    name: 'a certificate that nobody signed',
    args: async () => ['send', `https://${await listening(createTlsServer(certificate))}`, 'hi'],
    code: 2,
    says: ['its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)', '--no-verify-ssl'],
  },
  {
    name: 'a path at which there is nothing',
    args: (url) => ['send', `${url}/wrong`, 'hi'],
    code: 2,
    says: ['/wrong: No such path', noAgent],
  },
  {
    name: 'an agent that the server does not have',
    args: (url) => ['send', `${url}/agents/clark`, 'hi'],
    code: 2,
    says: ['/agents/clark: There is no such agent; there are clerk', noAgent],
  },
  {
    name: 'a task that is not there',
    args: (url) => ['task', 'get', url, 'nope'],
    code: 1,
    says: ['Task not found: nope', '"npx corral task list URL" shows the tasks'],
  },
  {
    name: 'a store that is not a database',
    args() {
      const file = writeFile(temporary())
      return ['serve', file, '--port', '0', '--store', join(file, '../clerk.mjs')]
    },
    code: 2,
    says: [': the file is not a database', 'Choose another with --store PATH, or --store memory.'],
  },
  {
    name: 'a store where nothing can be written',
    args() {
      const file = writeFile(temporary())
      return ['serve', file, '--port', '0', '--store', join(file, 'tasks.db')]
    },
    code: 2,
    says: ['Cannot open the task store ', 'Choose another with --store PATH, or --store memory.'],
  },
  {
    name: 'a domain that is not there',
    args: (url) => ['eval', 'run', '--agent-a2a-endpoint', url, '--domain', 'retial'],
    code: 2,
    says: ['There is no domain retial: built in are kestrel', './retial'],
  },
  {
    name: 'results that are not JSON',
    args() {
      const directory = temporary()
      writeFileSync(join(directory, 'results.json'), 'task,reward\n')
      return ['eval', 'report', directory]
    },
    code: 2,
    says: ['results.json is not JSON; name what "corral eval run" wrote'],
  },
  {
    name: 'results that are not there',
    args: () => ['eval', 'report', 'eval-results/lst'],
    code: 2,
    says: ['There are no results in eval-results/lst/results.json', '"corral eval run"'],
  },
]

function portOf(url: string): string {
  return new URL(url).port
}

/** Runs the command with each of the lines, against a server. */
async function runLines(): Promise<readonly Ended[]> {
  const url = await serveHere(writeFile(temporary()))
  const cwd = temporary()
  const runs = onTheLine.map(async ({ args }) => ({ args: await args(url), cwd }))
  return corralMany(await Promise.all(runs))
}

describe('a mistake on the command line', () => {
  let runs: Promise<readonly Ended[]> | undefined

  test.each(onTheLine.map((mistake, index) => ({ ...mistake, index })))(
    '$name',
    async ({ code, says, index }) => {
      runs ??= runLines()
      const { stderr = '', ...rest } = (await runs)[index] ?? {}
      expect(rest).toEqual({ code, stdout: '' })
      for (const words of says) expect(stderr).toContain(words)
      expect(stderr).not.toMatch(/^\s+at /m)
    },
  )

  test('a token that is wrong, or none', async () => {
    const auth = '\n[[server.auth.bearer_tokens]]\ntoken = "right"\nuser = "ann"\n'
    const url = await serveHere(writeFile(temporary(), clerkAgent() + auth))
    const hint = 'Give credentials with --bearer-token, --api-key or --oauth-client-id.'
    const wrong = await corral(['send', url, 'hi', '--bearer-token', 'wrong'])
    expect(wrong).toEqual({
      code: 1,
      stdout: '',
      stderr: `corral: The credentials do not hold\n${hint}\n`,
    })
    const none = await corral(['send', url, 'hi'])
    expect(none).toEqual({
      code: 1,
      stdout: '',
      stderr: `corral: Authentication is required\n${hint}\n`,
    })
  })

  test('an agent that throws: the caller hears that it failed, the developer where', async () => {
    const directory = temporary()
    const file = writeFile(directory, agent('./throws.mjs'))
    const code = 'export default () => {\n  throw new Error("the drawer is empty")\n}\n'
    writeFileSync(join(directory, 'throws.mjs'), code)
    const served = await serve(['serve', file])
    const sent = await corral(['send', served.url, 'hi'])
    expect(sent.code).toBe(1)
    expect(sent.stdout + sent.stderr).toContain('The agent failed to process the message')
    expect(sent.stdout + sent.stderr).not.toMatch(/drawer|throws\.mjs/)
    await served.seen(/the drawer is empty[\s\S]*throws\.mjs\S*:2/)
  })

  test('a member that is dead is told after the start, which it does not hinder', async () => {
    const dead = agent('http://127.0.0.1:1').replaceAll('clerk', 'dead').replace('module', 'a2a')
    const file = writeFile(temporary(), clerkAgent() + dead)
    const started = start(['serve', file, '--port', '0', '--store', 'memory'])
    await started.seen(
      /is served at[\s\S]*Members that do not answer:\n {2}dead at 127\.0\.0\.1:1: /,
    )
    await started.seen(/Start them, or correct their endpoint\./)
    const json = await serve(['serve', file])
    await json.seen(/"agent":"dead","host":"127\.0\.0\.1:1".*A member does not answer/)
  })

  test('a chat whose stdin is closed ends without an error', async () => {
    const url = await serveHere(writeFile(temporary()))
    expect(await corral(['chat', url])).toMatchObject({ code: 0 })
  })

  test('hints name the command as the shell finds it', async () => {
    const bin = temporary()
    writeFileSync(join(bin, 'corral'), '')
    const env = { PATH: `${bin}:${process.env.PATH}`, npm_command: undefined }
    const found = await corral(['card', 'http://127.0.0.1:1'], { env })
    expect(found.stderr).toContain('"corral demo" starts an agent')
    // Npm puts a project's own commands there for what it starts; the shell does not know them.
    const local = join(bin, 'node_modules/.bin')
    mkdirSync(local, { recursive: true })
    writeFileSync(join(local, 'corral'), '')
    const started = await corral(['card', 'http://127.0.0.1:1'], { env: { PATH: local } })
    expect(started.stderr).toContain('"npx corral demo" starts an agent')
  })
})
