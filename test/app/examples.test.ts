import { type ChildProcess, spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/app/config/load.ts'
import { createRoster, type Roster } from '../../src/app/roster.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createServer, type Server } from '../../src/server/index.ts'
import { openModelServer, runTeam } from '../../src/testing/index.ts'

const root = join(import.meta.dirname, '..', '..')
const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function rosterOf(path: string, env: Record<string, string> = {}): Promise<Roster> {
  const file = join(root, path)
  const roster = await createRoster(await loadConfig(file, env), { directory: dirname(file) })
  closers.push(() => roster.close())
  return roster
}

async function serve(path: string, env: Record<string, string> = {}): Promise<Server> {
  const server = await createServer({ agents: (await rosterOf(path, env)).agents })
  closers.push(() => server.close())
  return server
}

async function rpc(server: Server, method: string, params: unknown): Promise<unknown> {
  const reply = await server.handle({
    method: 'POST',
    path: '/rpc',
    query: '',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', method, params, id: 1 }),
  })
  return JSON.parse(String(reply.body))
}

/** What the team answers to a text, in RANCH's dialect. */
async function ask(server: Server, text: string): Promise<string> {
  const answer = await rpc(server, 'message/send', {
    message: { role: 'user', parts: [{ type: 'text', text }] },
  })
  const { result } = answer as { result: { message: { parts: { text: string }[] } } } // RANCH's shape
  return result.message.parts.map((part) => part.text).join('')
}

describe('the fantasy writing team', () => {
  const file = 'examples/fantasy/corral.toml'

  test('AT-6: has the card of the seed', async () => {
    const server = await serve(file)
    expect(await rpc(server, 'agent/card', {})).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        agent_id: 'fantasy-writing-team',
        name: 'Fantasy Story Writing Team',
        description: 'Collaborative team for fantasy story creation',
        capabilities: [
          {
            name: 'world-building',
            description: 'Create rich fantasy world settings',
            version: '1.0.0',
          },
          {
            name: 'character-development',
            description: 'Develop compelling characters',
            version: '1.0.0',
          },
          {
            name: 'plot-generation',
            description: 'Generate engaging plot structures',
            version: '1.0.0',
          },
          {
            name: 'prose-writing',
            description: 'Write polished narrative prose',
            version: '1.0.0',
          },
        ],
        skills: [{ name: 'creative-writing', proficiency: 'expert' }],
        version: '2.0.0',
        provider: { name: 'RANCH Multi-Agent Framework', url: 'https://github.com/example/ranch' },
      },
    })
  })

  test('AT-21: takes up the subject asked for, always in the same way', async () => {
    const server = await serve(file)
    const story = await ask(server, 'Write a fantasy story about dragons')
    expect(story).toMatch(/^Once upon a time, .*dragons/)
    expect(story.match(/dragons/g)?.length).toBeGreaterThan(3)
    expect(story).toMatch(/The End\.$/)
    expect(await ask(server, 'Write a fantasy story about dragons')).toBe(story)
    const other = await ask(server, 'Tell me a tale featuring a clockwork owl!')
    expect(other).toContain('a clockwork owl')
    expect(other).not.toContain('owl!')
  })

  test('streams its story in chunks, after status texts of the first two members', async () => {
    const server = await serve(file)
    const stream = await server.dispatch()(
      'SendStreamingMessage',
      { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'a story about tea' }] } },
      {},
    )
    const kinds: string[] = []
    let story = ''
    for await (const batch of stream)
      for (const { event } of batch) {
        kinds.push(Object.keys(event)[0] ?? '')
        if ('artifactUpdate' in event) story += textOf(event.artifactUpdate.artifact.parts)
      }
    expect(kinds.filter((kind) => kind === 'artifactUpdate').length).toBeGreaterThan(10)
    expect(kinds.filter((kind) => kind === 'statusUpdate').length).toBeGreaterThanOrEqual(3)
    expect(story).toContain('tea')
  })
})

describe('AT-21: the supervisor with three specialists', () => {
  test.each([
    [
      'Can you help me implement a new API endpoint?',
      'I can help you implement that feature with clean, efficient code!',
    ],
    [
      'I need to document this feature for users',
      "I'll create comprehensive documentation with examples and best practices!",
    ],
    [
      'We need to verify the quality of this module',
      "I'll create comprehensive test coverage with unit, integration, and edge case tests!",
    ],
  ])('answers "%s"', async (question, answer) => {
    expect(await ask(await serve('examples/supervisor/corral.toml'), question)).toBe(answer)
  })

  test('asks two of them at once where two are needed', async () => {
    const answer = await ask(
      await serve('examples/supervisor/corral.toml'),
      'Please implement it and test it',
    )
    expect(answer).toContain('clean, efficient code')
    expect(answer).toContain('comprehensive test coverage')
  })
})

/** Runs a TypeScript file in a process of its own and gives its first line of output. */
async function startProcess(script: string, ...args: string[]): Promise<string> {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', 'tsx', join(root, script), ...args],
    { cwd: root, stdio: ['ignore', 'pipe', 'inherit', 'ipc'], env: { ...process.env, PORT: '0' } },
  )
  closers.push(() => child.kill())
  if (!child.stdout) throw new Error('no output')
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error(`${script} did not start`)
}

test('R-21: a team in ten lines of TypeScript answers over HTTP', async () => {
  expect(await startProcess('examples/ten-lines.ts')).toBe('Written. Plan: A book about bees')
})

describe('AT-21: the router, worker and supervisor in processes of their own', () => {
  test('pass messages on over HTTP', async () => {
    const [router, worker, supervisor] = await Promise.all(
      ['router.toml', 'worker.toml', 'supervisor.toml'].map((file) =>
        startProcess('test/fixtures/serve.ts', join(root, 'examples/router', file)),
      ),
    )
    const server = await serve('examples/router/corral.toml', {
      ROUTER_URL: router ?? '',
      WORKER_URL: worker ?? '',
      SUPERVISOR_URL: supervisor ?? '',
    })
    expect(await ask(server, 'I need help with a task')).toBe(
      '[Worker] Completed task: I need help with a task',
    )
    expect(await ask(server, 'Thank you!')).toBe('[Router] Processed: Thank you!')
  })
})

test('handoff: the front desk hands over to whom it concerns', async () => {
  const models = await openModelServer(({ messages, tools }) => {
    const isDesk = String(messages[0]?.content).includes('front desk')
    if (isDesk && tools) return { tools: [{ name: 'transfer_to_shipping', arguments: {} }] }
    return String(messages[0]?.content)
  })
  closers.push(() => models.close())
  const env = { MODEL_URL: models.url, MODEL: 'm', OPENAI_API_KEY: 'k' }
  const server = await serve('examples/handoff/corral.toml', env)
  const message = { role: 'user', messageId: 'm1', parts: [{ kind: 'text', text: 'My parcel?' }] }
  const answer = JSON.stringify(await rpc(server, 'message/send', { message }))
  expect(answer).toContain('You find parcels.')
  expect(models.requests).toHaveLength(2)
})

test('tools: the forecaster asks before everybody is warned', async () => {
  const calls = ['weather', 'warn'].map((name) => ({ name, arguments: { city: 'Oslo' } }))
  const models = await openModelServer([{ tools: calls }, 'They know.'])
  closers.push(() => models.close())
  const env = { MODEL_URL: models.url, MODEL: 'm', OPENAI_API_KEY: 'k' }
  const server = await serve('examples/tools/corral.toml', env)
  const message = { role: 'user', messageId: 'm1', parts: [{ kind: 'text', text: 'A storm!' }] }
  const answer = JSON.stringify(await rpc(server, 'message/send', { message }))
  expect(answer).toContain('Forecaster wants to run the tool warn with:')
  expect(answer).toContain('input-required')
  expect(models.requests).toHaveLength(1)
})

test('the guarded writer says what its guards let pass', async () => {
  const file = join(root, 'examples/guards/corral.toml')
  const ask = async (text: string) => {
    const { state, text: said } = await runTeam(file, text, { logger: false, team: 'writer' })
    return `${state.replace('TASK_STATE_', '')} ${said}`
  }
  expect(await ask('Hello!!')).toBe('COMPLETED You asked: Hello.')
  expect(await ask('password=hunter2hunter2')).toBe(
    'COMPLETED You asked: password=[secret removed]',
  )
  expect(await ask('Do you guarantee it?')).toContain('FAILED The answer was blocked')
  expect(await ask('You idiot')).toContain('by the guard judge: be polite')
  expect(await ask('x'.repeat(2001))).toContain('REJECTED The message was blocked')
})
