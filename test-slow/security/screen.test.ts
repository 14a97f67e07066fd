import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openSqliteStore } from '../../src/store/index.ts'
import { type Started, start, temporary } from '../../test/cli/corral.ts'
import { hasTerminal, startInTerminal } from '../../test/cli/terminal.ts'
import { pushConfig, write } from '../../test/contracts/store/samples.ts'
import { hostile, hostileText, serveHostileAgent } from '../../test/security/hostile-agent.ts'

/** What this command may send: its own styles and colours, lines erased, and how readline moves its cursor. */
const ownCodes =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /\u001b\[(?:[1-4](?:;[2-4])*m|2[234](?:;2[34])*m|38;5;\d{2,3}m|39m|K|0?J|\d{1,3}[AG]|\?2004[hl])|\r+\n|\r(?=\u001b\[(?:K|J|\d{1,3}[AG]))|\n|\t/g
const steering =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]/g

/** The hostile words as a screen may show them. */
const shown = /Mallory\\u001b/
const ctrlC = '\u0003'
const terminal = { env: { TERM: 'xterm', NO_COLOR: undefined } }
const variants: readonly (readonly string[])[] = [
  [],
  ['--json'],
  ['--debug'],
  ['--json', '--debug'],
]

/** What a person at the terminal sees of a command, once it ended. */
async function screenOf(args: readonly string[]): Promise<string> {
  const { stdout } = await startInTerminal(args, terminal).ended
  expect(steeringIn(stdout), args.join(' ')).toEqual([])
  return stdout
}

function screensOf(args: readonly string[], flags = variants): Promise<readonly string[]> {
  return Promise.all(flags.map((some) => screenOf([...args, ...some])))
}

function steeringIn(output: string): readonly string[] {
  const found = output.replaceAll(ownCodes, '').match(steering) ?? []
  return [...new Set(found)].map((one) => `U+${one.charCodeAt(0).toString(16)}`)
}

/** Commands and what they are asked, by whether the agent's words are part of what they show. */
const commands: readonly (readonly [command: string, speaks: boolean])[] = [
  ['card URL', true],
  ['send URL hello', true],
  ['send URL fail', true],
  ['send URL bad', false],
  ['send URL hello --stream', true],
  ['send URL fail --stream', true],
  ['send URL hello --trace', true],
  ['send URL hello --stream --trace', true],
  ['task get URL t-1 --trace', true],
  ['task get URL t-1', true],
  ['task get URL fail', true],
  ['task list URL', true],
  ['task watch URL t-1', true],
  ['task cancel URL t-1', false],
  ['task cancel URL fail', true],
]

describe.runIf(hasTerminal)('a hostile agent steers no terminal', () => {
  const toArgs = (command: string, url: string): readonly string[] =>
    command.split(' ').map((word) => (word === 'URL' ? url : word))

  test.each(commands)('corral %s', async (command, speaks) => {
    const { url } = await serveHostileAgent('t-1')
    const screens = await screensOf(toArgs(command, url))
    for (const screen of screens) if (speaks) expect(screen).toMatch(shown)
  })

  test.each(commands)('by its ids: corral %s', async (command) => {
    const { url, called } = await serveHostileAgent()
    const screens = await screensOf(toArgs(command, url), [['--json'], ['--debug']])
    for (const screen of screens) expect(screen).not.toBe('')
    // Whoever shows a tree beside a stream asks for the task too.
    const asks = /watch|--stream --trace/.test(command) ? 2 : 1
    expect(called.size).toBe(command.startsWith('card') ? 0 : asks)
  })

  test.each(['', '--json'])('corral chat %s', async (flag) => {
    const { url } = await serveHostileAgent('t-1')
    const chat = startInTerminal(['chat', url, ...(flag ? [flag] : [])], terminal)
    for (const line of ['hello', 'fail', 'bad', '/quit']) {
      await chat.seen(new RegExp(`(?:you> [^]*){${1 + chatted(line)}}`))
      chat.write(`${line}\r`)
    }
    const { stdout } = await chat.ended
    expect(steeringIn(stdout)).toEqual([])
    expect(stdout).toMatch(shown)
  })

  /** How many prompts came before this line's. */
  function chatted(line: string): number {
    return ['hello', 'fail', 'bad', '/quit'].indexOf(line)
  }

  test('corral eval run', async () => {
    const { url, called } = await serveHostileAgent('t-1')
    const args = ['eval', 'run', '--agent-a2a-endpoint', url, '--num-tasks', '1', '--a2a-debug']
    const screens = await Promise.all(
      variants.map((flags) => screenOf([...args, '--save-to', join(temporary(), 'run'), ...flags])),
    )
    for (const screen of screens) expect(screen).toMatch(shown)
    expect(called.size).toBeGreaterThan(0)
  })
})

describe.runIf(hasTerminal)('a hostile file steers no terminal', () => {
  test.each([
    ['of words', `["${escaped()}"]\nid = "${escaped()}"\n[[agents]]\nid = "${escaped()}"\n`],
    ['of agents', `[[agents]]\nid = "a"\nname = "${escaped()}"\nprotocol = "${escaped()}"\n`],
    ['of raw characters', `[[agents]]\nid = "${hostileText}"\n# ${hostileText}\n`],
  ])('%s', async (_what, text) => {
    const path = join(temporary(), 'corral.toml')
    writeFileSync(path, text)
    for (const screen of await screensOf(['validate', path])) expect(screen).not.toBe('')
    for (const screen of await screensOf(['serve', path])) expect(screen).not.toBe('')
  })

  /** As a basic string of TOML writes it. */
  function escaped(): string {
    return JSON.stringify(hostileText).slice(1, -1).replaceAll('\u007f', '\\u007f')
  }
})

describe.runIf(hasTerminal)('hostile callers and members steer no terminal', () => {
  test('corral webhooks list', async () => {
    const path = join(temporary(), 'tasks.db')
    const store = await openSqliteStore(path)
    const names = { id: hostile, taskId: hostile, configId: hostile }
    const deadLetter = { ...names, seq: 1, attempts: 3, reason: hostile, at: hostile }
    await store.commit([write('t-1'), { type: 'pushConfig', record: pushConfig('t-1', 'c-1') }])
    await store.commit([{ type: 'cursor', taskId: 't-1', id: 'c-1', cursor: 1, deadLetter }])
    await store.close()
    for (const screen of await screensOf(['webhooks', 'list', path])) expect(screen).toMatch(shown)
    for (const screen of await screensOf(['webhooks', 'redrive', path, '--all']))
      expect(screen).not.toBe('')
  })

  test.each(['debug', 'info', 'warn', 'error', 'silent'])(
    'corral serve --log-level %s',
    async (level) => {
      const args = [
        'serve',
        await teamFile(),
        '--port',
        '0',
        '--store',
        'memory',
        '--log-level',
        level,
      ]
      const serving = startInTerminal([...args, '--debug'], terminal)
      const [, url = ''] = await serving.seen(/is served at (\S+)/)
      await call(url)
      if (level !== 'silent' && level !== 'error') await serving.seen(/has failed/)
      serving.write(ctrlC)
      const { stdout } = await serving.ended
      expect(steeringIn(stdout)).toEqual([])
      if (level !== 'silent' && level !== 'error') expect(stdout).toMatch(shown)
    },
  )

  test('nor what is read from a file of the log', async () => {
    const args = [
      'serve',
      await teamFile(),
      '--port',
      '0',
      '--store',
      'memory',
      '--json',
      '--debug',
    ]
    const serving: Started = start(args)
    const [line] = await serving.seen(/^\{"url".*\}$/m)
    await call(JSON.parse(line).url)
    await serving.seen(/has failed/)
    serving.signal('SIGTERM')
    const { stdout, stderr } = await serving.ended
    expect(steeringIn(stdout + stderr)).toEqual([])
    expect(stderr).toMatch(shown)
    for (const one of stderr.trimEnd().split('\n')) JSON.parse(one)
  })

  test('what nobody caught, and what Node warns of', async () => {
    const directory = temporary()
    const path = join(directory, 'corral.toml')
    const words = JSON.stringify(hostile)
    const lines = [
      `process.emitWarning('warned ' + ${words})`,
      `process.once('warning', () => setImmediate(() => { throw new Error(${words}) }))`,
      'export default () => "hi"',
    ]
    writeFileSync(join(directory, 'a.mjs'), lines.join('\n'))
    const agent = 'id = "a"\nname = "A"\ndescription = "d"\ncapabilities = []'
    writeFileSync(path, `[[agents]]\n${agent}\nprotocol = "module"\nendpoint = "./a.mjs"\n`)
    const args = ['serve', path, '--port', '0', '--store', 'memory']
    const { code, stdout } = await startInTerminal(args, terminal).ended
    expect(code).toBe(1)
    expect(steeringIn(stdout)).toEqual([])
    expect(stdout).toMatch(/Warning: warned Mallory\\u001b/)
    expect(stdout).toMatch(/Error: Mallory\\u001b/)
  })

  /** A team whose only member is a hostile agent, with a name to match, and a webhook that is refused. */
  async function teamFile(): Promise<string> {
    const { url } = await serveHostileAgent()
    const path = join(temporary(), 'corral.toml')
    const lines = [
      '[server.webhooks]\nallow_http = true\nallow = ["127.0.0.1"]',
      `[[agents]]\nid = "mallory"\nname = "M\\u202e"\nprotocol = "a2a"\nendpoint = "${url}"\nmax_retries = 0\ndescription = "d"\ncapabilities = []`,
      '[[teams]]\nid = "team"\nname = "Team\\u001b[2J"\ndescription = "d"\nmode = "workflow"',
      '[[teams.agents]]\nagent_id = "mallory"',
      '[teams.scheduler_config]\ntype = "workflow"',
      '[[teams.scheduler_config.steps]]\nagent_id = "mallory"\norder = 1',
    ]
    writeFileSync(path, `${lines.join('\n')}\n`)
    return path
  }

  async function call(url: string): Promise<void> {
    const receiver = createServer((_request, response) => response.writeHead(500).end(hostileText))
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void receiver.close())
    const { port } = receiver.address() as AddressInfo // a listening TCP server has one
    const push = { id: hostile, url: `http://127.0.0.1:${port}/`, token: hostile }
    const parts = [{ text: 'fail' }]
    const message = { messageId: 'm-1', role: 'ROLE_USER', parts, metadata: { [hostile]: hostile } }
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    for (const configuration of [{ taskPushNotificationConfig: push }, {}]) {
      const params = { message, configuration }
      const body = JSON.stringify({ jsonrpc: '2.0', id: hostile, method: 'SendMessage', params })
      const response = await fetch(url, { method: 'POST', headers, body })
      await response.text()
    }
  }
})
