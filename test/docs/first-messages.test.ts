import { readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { chapterOf } from '../../scripts/markdown/page.ts'
import { defineAgent, OpenAIAgent } from '../../src/agents/index.ts'
import { bearer } from '../../src/server/index.ts'
import { openSqliteStore } from '../../src/store/index.ts'
import { openConnection } from '../../src/store/sqlite/driver.ts'
import { defineTeam } from '../../src/team/index.ts'
import { openModelServer, runTeam } from '../../src/testing/index.ts'
import { serveHere, temporary } from '../cli/corral.ts'
import { clerkAgent, writeFile } from '../cli/files.ts'
import { corralMany } from '../cli/many.ts'
import { rpc, serveAgent, text } from '../server/sockets.ts'

/**
 * The messages that the guide on errors shows are those that people meet: each is brought about here, and each that the
 * guide shows must be among them.
 */

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The messages of the guide: code in the first cells of its first chapter. */
function shownMessages(): readonly string[] {
  const chapter = chapterOf(read('docs/guides/errors.md'), 'What you meet first')
  const cells = chapter.matchAll(/^\| ([^|]+) \|/gm)
  return [...cells].flatMap(([, cell = '']) => /`([^`]+)`/.exec(cell)?.[1] ?? [])
}

test('every message that the guide on errors shows is one that occurs', async () => {
  const said = (await Promise.all([ofCommand(), ofServer(), ofAgents(), ofSource()])).flat()
  const plain = said.map((one) =>
    one.replace(/Port \d+/, 'Port 3000').replace(/process \d+/, 'process 4711'),
  )
  const shown = shownMessages()
  expect(shown.length).toBeGreaterThan(30)
  expect(shown.filter((message) => !plain.some((one) => one.includes(message)))).toEqual([])
})

/** What the command says of mistakes. */
async function ofCommand(): Promise<readonly string[]> {
  const url = await serveHere(writeFile(temporary()))
  const memory = ['--store', 'memory', '--port', '0']
  const serveWith = (...more: string[]) => ['serve', writeFile(temporary()), ...more]
  const runs = [
    serveWith('--store', 'memory', '--port', new URL(url).port),
    ['serve', 'team.toml'],
    ...badFiles().map((file) => ['validate', file]),
    serveWith('--store', await heldStore(), '--port', '0'),
    serveWith('--store', await newerStore(), '--port', '0'),
    serveWith('--store', writeFile(temporary()), '--port', '0'),
    serveWith(...memory, '--host', '0.0.0.0'),
    ['send', 'http://127.0.0.1:1', 'hi'],
    ['send', 'localhost:3000', 'hi'],
    [
      'send',
      `http://${await listening(createHttpServer((_, reply) => reply.writeHead(404).end()))}`,
      'hi',
    ],
    ['send', `${url}/agents/clark`, 'hi'],
    ['task', 'get', url, 'nope'],
  ]
  const cwd = temporary()
  const ended = await corralMany(
    runs.map((args) => ({ args, cwd })),
    { OPENAI_API_KEY: undefined, MY_KEY: undefined },
  )
  return ended.map(({ stderr }) => stderr)
}

function badFiles(): readonly string[] {
  const model =
    '[[agents]]\nid = "m"\nname = "M"\nendpoint = "https://api.openai.com/v1"\nprotocol = "openai"\n'
  const team =
    '[[teams]]\nid = "desk"\nname = "Desk"\ndescription = ""\nagents = [{ agent_id = "clrek" }]\nrouter_config = { default_agent_id = "clrek" }\n'
  const throwing = writeFile(temporary())
  writeFileSync(join(throwing, '../clerk.mjs'), 'const key = 1\nthrow new Error("no key")\n')
  return [
    writeFile(temporary(), clerkAgent().replace('name =', 'nmae =')),
    writeFile(temporary(), `${model}metadata = { api_key = "\${MY_KEY}" }\n`),
    writeFile(temporary(), model),
    writeFile(temporary(), `${clerkAgent()}${team}`),
    throwing,
  ]
}

async function heldStore(): Promise<string> {
  const path = join(temporary(), 'tasks.db')
  const store = await openSqliteStore(path)
  onTestFinished(() => store.close())
  return path
}

async function newerStore(): Promise<string> {
  const path = join(temporary(), 'tasks.db')
  const db = await openConnection(path)
  db.exec('PRAGMA application_id = 1131573868; PRAGMA user_version = 99')
  db.close()
  return path
}

/** What a server says to those whom it refuses. */
async function ofServer(): Promise<readonly string[]> {
  const open = await serveAgent()
  const closed = await serveAgent({
    auth: { authenticators: [bearer({ tokens: { good: 'ada' } })] },
  })
  const counted = await serveAgent({ limits: { requests: 1 } })
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
  const send = rpc('SendMessage', text('hi'))
  const calls: [url: string, call: RequestInit][] = [
    [closed.url, send],
    [closed.url, { ...send, headers: { ...send.headers, authorization: 'Bearer bad' } }],
    [counted.url, send],
    [counted.url, send],
    [
      open.url,
      { ...send, body: `{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": ${deep}}` },
    ],
    [open.url, { ...send, body: '{' }],
    [open.url, rpc('Nonsense', {})],
  ]
  const said: string[] = []
  for (const [url, call] of calls) said.push(await (await fetch(url, call)).text())
  return [
    ...said,
    await post(open.url, { host: 'agents.example' }),
    await post(open.url, { origin: 'https://evil.example' }),
    await post(open.url, { 'content-length': String(11 * 1024 * 1024) }, { isWhole: false }),
  ].map((body) => body.replaceAll('\\"', '"'))
}

/** Posts with headers that `fetch` does not let one set. */
function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  { isWhole } = { isWhole: true },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const type = { 'content-type': 'application/json' }
    const sent = request(url, { method: 'POST', headers: { ...type, ...headers } }, (reply) => {
      let body = ''
      reply.setEncoding('utf8').on('data', (chunk) => {
        body += chunk
      })
      reply.on('end', () => resolve(body))
    })
    sent.on('error', reject).write('{}')
    if (isWhole) sent.end()
  })
}

/** What becomes of a task whose agent fails. */
async function ofAgents(): Promise<readonly string[]> {
  const answers = [
    ...[401, 404, 429].map((status) => ({ status })),
    ...[{ error: 'quota' }, { error: 'context_length' }, { chunks: [], finish: 'length' }],
  ] as const
  const services = await Promise.all(answers.map((answer) => openModelServer([answer])))
  onTestFinished(async () => void (await Promise.all(services.map((one) => one.close()))))
  const clerk = (endpoint: string): OpenAIAgent =>
    new OpenAIAgent({
      id: 'clerk',
      name: 'Clerk',
      model: 'm',
      endpoint,
      apiKey: 'k',
      maxRetries: 0,
    })
  const away = clerk('http://127.0.0.1:1/v1')
  const scheduler = { type: 'workflow', steps: [{ agentId: 'clerk' }] } as const
  const agents = [
    away,
    ...services.map(({ url }) => clerk(url)),
    defineTeam({ id: 'desk', name: 'Desk', agents: { clerk: away }, scheduler }),
    defineAgent({ name: 'Broken' }, () => {
      throw new Error('an error of its own')
    }),
  ]
  const runs = await Promise.all(agents.map((one) => runTeam(one, 'hi', { logger: false })))
  return runs.map((run) => run.text)
}

/** Messages that only a machine without `pg`, a crash, or waiting for retries brings about; other tests do. */
function ofSource(): readonly string[] {
  return [
    'src/store/postgres/connection.ts',
    'src/server/access/overload.ts',
    'src/engine/recover.ts',
    'src/cli/errors.ts',
  ].map(read)
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  return `127.0.0.1:${port}`
}
