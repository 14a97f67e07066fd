import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttp } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { userMessage } from '../../src/protocol/build.ts'
import { apiKey, bearer, createServer, listen } from '../../src/server/index.ts'
import { silent } from '../../src/shared/log.ts'
import { loadConfig } from '../../src/team/config.ts'
import { type ServeOptions, type Serving, serveConfig } from '../../src/team/serve.ts'
import { member } from '../fixtures/members.ts'
import { answerText, connect, taskOf } from './scene.ts'

let directory = ''
let path = ''

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'corral-'))
  path = join(directory, 'corral.toml')
  onTestFinished(() => rm(directory, { recursive: true }))
})

const module = (id: string, file = `${id}.mjs`) => `
[[agents]]
id = "${id}"
name = "${id}"
endpoint = "./${file}"
protocol = "module"
`

const team = (id: string, ...members: readonly string[]) => `
[[teams]]
id = "${id}"
name = "${id}"
description = ""
mode = "workflow"
[teams.scheduler_config]
type = "workflow"
steps = [${members.map((one, i) => `{ agent_id = "${one}", order = ${i + 1} }`).join(', ')}]
${members.map((one) => `[[teams.agents]]\nagent_id = "${one}"`).join('\n')}
`

const says = (word: string) =>
  `export default (message) => '${word}(' + message.parts[0].text + ')'`

async function put(name: string, text: string): Promise<void> {
  await writeFile(join(directory, name), text)
}

async function start(text: string, options: Partial<ServeOptions> = {}): Promise<Serving> {
  await writeFile(path, text)
  const env = options.env ?? {}
  const config = await loadConfig(path, env)
  const serving = await serveConfig(config, { path, port: 0, store: 'memory', ...options, env })
  onTestFinished(() => serving.close())
  return serving
}

describe('a file that is served', () => {
  test('has its first team at the root, and every team and agent under its id', async () => {
    await put('a.mjs', says('a'))
    await put('b.mjs', says('b'))
    const text = module('a') + module('b') + team('outer', 'inner', 'b') + team('inner', 'a')
    const { listening, root } = await start(text)
    const ask = async (place: string) =>
      answerText(await connect(`${listening.url}${place}`).sendMessage('x'))
    expect(root.id).toBe('outer')
    expect(await ask('')).toBe('b(a(x))')
    expect(await ask('/agents/inner')).toBe('a(x)')
    expect(await ask('/agents/b')).toBe('b(x)')
    const { agents } = await (await fetch(`${listening.url}/agents`)).json()
    expect(agents.map(({ id }: { id: string }) => id)).toEqual(['outer', 'inner', 'a', 'b'])
  })

  test('has another team at the root if told so, and says which there are not', async () => {
    await put('a.mjs', says('a'))
    const text = module('a') + team('one', 'a') + team('two', 'a')
    expect((await start(text, { team: 'two' })).root.id).toBe('two')
    await expect(start(text, { team: 'three' })).rejects.toThrow('no team or agent "three"')
  })

  test('is served as its server table says', async () => {
    await put('a.mjs', says('a'))
    const text = `${module('a')}
[server]
host = "127.0.0.1"
port = 0
public_url = "https://agents.example.com/base"
store = "kept/tasks.db"
trace = false
[[server.auth.api_keys]]
key = "\${ALICE_KEY}"
user = "alice"
[server.limits]
max_body_bytes = 2000
max_concurrent_turns = 3
[server.cors]
origins = ["https://app.example.com"]
`
    await writeFile(path, text)
    const env = { ALICE_KEY: 'open-sesame' }
    const serving = await serveConfig(await loadConfig(path, env), { path, env })
    onTestFinished(() => serving.close())
    await access(join(directory, 'kept/tasks.db'))
    const { port } = serving.listening
    const url = `http://127.0.0.1:${port}`
    const card = await (await fetch(`${url}/.well-known/agent-card.json`)).json()
    expect(card.url).toBe('https://agents.example.com/base/')
    expect(JSON.stringify(card)).not.toContain('trace')
    const post = (headers: Record<string, string>, text = 'x') =>
      fetch(`${url}/rpc`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'message/send',
          params: { message: { role: 'user', parts: [{ type: 'text', text }] } },
        }),
      })
    expect((await post({})).status).toBe(401)
    const known = await post({ 'x-api-key': 'open-sesame', origin: 'https://app.example.com' })
    expect(known.status).toBe(200)
    expect(known.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
    const large = await post({ 'x-api-key': 'open-sesame' }, 'x'.repeat(3_000))
    expect(large.status).toBe(413)
  })
})

describe('a file that changes while it is served', () => {
  test('takes effect at once; a task that runs ends with the team it began with', async () => {
    await put(
      'slow.mjs',
      `import { watch, existsSync } from 'node:fs'
export default (message, turn) => new Promise((resolve) => {
  const go = () => existsSync(${JSON.stringify(join(directory, 'go'))}) && resolve('slow(' + message.parts[0].text + ')')
  const watcher = watch(${JSON.stringify(directory)}, go)
  turn.signal.addEventListener('abort', () => watcher.close())
})`,
    )
    await put('old.mjs', says('old'))
    await put('new.mjs', says('new'))
    const errors: string[] = []
    const logger = { ...silent, error: (_fields: object, text: string) => void errors.push(text) }
    const { listening } = await start(module('slow') + module('old') + team('t', 'slow', 'old'), {
      watch: true,
      logger,
    })
    const client = connect(listening.url)
    const running = taskOf(
      await client.sendMessage({
        message: userMessage('x'),
        configuration: { returnImmediately: true },
      }),
    )
    await writeFile(path, 'teams = "nonsense"')
    await expect.poll(() => errors.length, { timeout: 10_000 }).toBeGreaterThan(0)

    await writeFile(path, module('new') + team('t', 'new'))
    const models = async () =>
      JSON.stringify(await (await fetch(`${listening.url}/v1/models`)).json())
    await expect.poll(models, { timeout: 10_000 }).toContain('"new"')
    expect(answerText(await client.sendMessage('y'))).toBe('new(y)')

    await put('go', '')
    const state = async () => (await client.getTask(running.id)).status.state
    await expect.poll(state, { timeout: 10_000 }).toBe('TASK_STATE_COMPLETED')
    expect(answerText({ task: await client.getTask(running.id) })).toBe('old(slow(x))')
  })
})

describe('R-W9, R-W10: credentials in a file', () => {
  const secret = 's3cret-value'

  /** A member that lets in three kinds of callers and says who came. */
  async function guarded(): Promise<string> {
    const agent = member('guarded', (_text, turn) => `for ${turn.caller.userId}`)
    const authenticators = [
      apiKey({ keys: { [secret]: 'key' }, name: 'X-Team-Key' }),
      bearer({ tokens: { [secret]: 'bearer', fresh: 'oauth' } }),
    ]
    const server = await createServer({ agents: [agent], auth: { authenticators } })
    const listening = await listen(server, { port: 0, host: '127.0.0.1' })
    onTestFinished(listening.close)
    return listening.url
  }

  async function tokens(): Promise<string> {
    const server = createHttp((request, response) => {
      let body = ''
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () => {
        // Basic credentials of OAuth 2 are form-encoded first (RFC 6749 §2.3.1).
        const basic = decodeURIComponent(atob(request.headers.authorization?.slice(6) ?? ''))
        const asked = `${body} ${basic}`
        response.writeHead(asked.includes(secret) ? 200 : 401, {
          'content-type': 'application/json',
        })
        response.end('{"access_token":"fresh","token_type":"bearer","expires_in":60}')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/token` // a listening TCP server has one
  }

  test.each([
    ['key', () => `type = "api_key"\nkey = "\${SECRET}"\nheader = "X-Team-Key"`],
    ['bearer', () => `type = "bearer"\ntoken = "\${SECRET}"`],
    [
      'oauth',
      (url: string) =>
        `type = "oauth2"\ntoken_url = "${url}"\nclient_id = "team"\nclient_secret = "\${SECRET}"\nscopes = ["write"]`,
    ],
  ])('open the member by %s', async (who, auth) => {
    const text = `
[[agents]]
id = "far"
name = "Far"
endpoint = "\${FAR_URL}"
protocol = "a2a"
[agents.auth]
${auth(await tokens())}
${team('t', 'far')}`
    const env = { SECRET: secret, FAR_URL: await guarded() }
    const { listening } = await start(text, { env })
    const client = connect(listening.url)
    const answer = await client.sendMessage('x')
    expect(answerText(answer)).toBe(`for ${who}`)
    const pages = await Promise.all(
      ['/.well-known/agent-card.json', '/agents', '/health', '/v1/models'].map(async (place) =>
        (await fetch(`${listening.url}${place}`)).text(),
      ),
    )
    expect(pages.join('') + JSON.stringify(answer)).not.toContain(secret)
  })
})
