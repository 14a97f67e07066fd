import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { OpenAIAgent, type OpenAIAgentOptions } from '../../src/agents/openai/agent.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import { defineTool } from '../../src/agents/tools.ts'
import { createConsole } from '../../src/console/index.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { traceExtension } from '../../src/protocol/extensions.ts'
import { type Explanation, explainError, failureOf } from '../../src/protocol/failure.ts'
import { bearer, createServer, listen } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { toDatabaseError } from '../../src/store/postgres/connection.ts'
import { toStoreError } from '../../src/store/sqlite/driver.ts'
import type { LogRecord } from '../../src/store/store.ts'
import { defineTeam, type Team } from '../../src/team/index.ts'
import { type ModelAnswer, openModelServer } from '../../src/testing/index.ts'
import { ask } from '../server/asking.ts'
import { createReceiver } from '../webhooks/receiver.ts'
import { corral, main, startProcess } from './corral.ts'

/** A cause that is planted, and what an operator has to be told of it. */
interface Planted {
  readonly id: string
  readonly cause: string
  readonly what: string
  readonly who: string
  /** Words of the error itself, which nobody but an operator reads. */
  readonly own: string
  readonly remedy: string
  readonly section: string
}

const planted: readonly Planted[] = [
  {
    id: 'wrong-key',
    cause: 'modelKey',
    what: 'The model service rejected the API key',
    who: 'clerk of team wrong-key, attempt 1',
    own: 'HTTP 401: {"error":{"message":"Incorrect API key provided: [redacted]"}}',
    remedy: 'api_key',
    section: 'wrong-api-key',
  },
  {
    id: 'model-down',
    cause: 'modelDown',
    what: 'The model service cannot be reached',
    who: 'clerk of team model-down, attempt 2',
    own: 'ECONNREFUSED',
    remedy: 'correct endpoint of the model',
    section: 'model-down',
  },
  {
    id: 'quota',
    cause: 'insufficientQuota',
    what: 'The account with the model service is used up',
    who: 'clerk of team quota, attempt 1',
    own: 'HTTP 429',
    remedy: 'plan and billing',
    section: 'quota-used-up',
  },
  {
    id: 'tool',
    cause: 'toolThrew',
    what: 'A tool threw an error',
    who: 'clerk, attempt 1',
    own: 'RangeError: no shelf 42',
    remedy: 'Correct the tool',
    section: 'tool-threw',
  },
  {
    id: 'guard',
    cause: 'guard',
    what: 'A guard blocked what was said',
    who: 'clerk of team guard, attempt 1',
    own: 'blocked by the guard length',
    remedy: 'change the guard',
    section: 'blocked-by-a-guard',
  },
  {
    id: 'budget',
    cause: 'budget',
    what: 'The run has used up its budget',
    who: 'second of team budget, attempt 1',
    own: 'used up its budget of 1',
    remedy: '[teams.budget]',
    section: 'budget-used-up',
  },
  {
    id: 'timeout',
    cause: 'timeout',
    what: 'No answer came in time',
    who: 'clerk of team timeout, attempt 1',
    own: 'Agent "clerk" took longer than 0.05 s',
    remedy: 'timeout_seconds',
    section: 'timeout',
  },
  {
    id: 'remote',
    cause: 'remoteDown',
    what: 'The remote agent cannot be reached',
    who: 'clerk of team remote, attempt 1',
    own: 'ECONNREFUSED',
    remedy: 'correct its endpoint',
    section: 'remote-agent-gone',
  },
  {
    id: 'output',
    cause: 'outputMisfit',
    what: 'No answer fits the output schema',
    who: 'clerk of team output, attempt 1',
    own: 'It answered: no JSON',
    remedy: 'output_schema',
    section: 'output-does-not-fit',
  },
  {
    id: 'webhook',
    cause: 'webhook',
    what: 'A webhook was given up',
    who: 'webhook hook, attempt 1',
    own: '410',
    remedy: 'corral webhooks redrive',
    section: 'webhook-rejected',
  },
  {
    id: 'question',
    cause: 'taskGone',
    what: 'The task is not here: its question expired',
    who: 'task 0',
    own: 'it was made at 20',
    remedy: 'waiting_days',
    section: 'question-expired',
  },
  {
    id: 'store',
    cause: 'storeDown',
    what: 'The task store cannot be used',
    who: 'the task store, attempt 1',
    own: 'disk I/O error at sector 7',
    remedy: 'Check the disk or the database',
    section: 'store-unavailable',
  },
]

const closing: (() => Promise<unknown>)[] = []

/** The address of a port that nothing listens at. */
const nowhere = 'http://127.0.0.1:1'

async function modelOf(
  answers: readonly ModelAnswer[],
  options: Partial<OpenAIAgentOptions> = {},
): Promise<OpenAIAgent> {
  const service = await openModelServer(answers)
  const agent = new OpenAIAgent({
    id: 'clerk',
    name: 'Clerk',
    endpoint: service.url,
    apiKey: 'sk-planted-key-0123456789abcdef',
    model: 'gpt-test',
    maxRetries: 0,
    ...options,
  })
  closing.push(() => agent.close(), service.close)
  return agent
}

const wrongKey = 'Incorrect API key provided: sk-planted-key-0123456789abcdef'

async function createAgents(): Promise<readonly Team[]> {
  const teamOf = (
    id: string,
    clerk: Parameters<typeof defineTeam>[0]['agents'][string],
    step = {},
  ) =>
    defineTeam({
      id,
      name: id,
      agents: { clerk, second: () => 'second' },
      scheduler: { type: 'workflow', steps: [{ agentId: 'clerk', ...step }] },
    })
  const shelf = defineTool({
    name: 'shelf',
    description: 'Looks at a shelf',
    parameters: { type: 'object', properties: {} },
    execute: () => {
      throw new RangeError('no shelf 42')
    },
  })
  const asker = defineAgent({ name: 'Clerk' }, async function* (_, turn) {
    yield turn.ask('Which one?')
  })
  const misfit = { outputSchema: { type: 'object', required: ['sum'] }, maxOutputRetries: 1 }
  const remote = new A2AAgent({ id: 'clerk', name: 'Clerk', endpoint: nowhere, maxRetries: 0 })
  return [
    teamOf('wrong-key', await modelOf([{ status: 401, body: { error: { message: wrongKey } } }])),
    teamOf('model-down', await modelOf(['-'], { endpoint: `${nowhere}/v1` }), { maxRetries: 1 }),
    teamOf('quota', await modelOf([{ error: 'quota' }])),
    teamOf(
      'tool',
      await modelOf([{ tools: [{ name: 'shelf', arguments: {} }] }, 'Sorry.'], { tools: [shelf] }),
    ),
    teamOf('guard', () => 'a long answer', { guards: { output: [{ use: 'length', max: 3 }] } }),
    defineTeam({
      id: 'budget',
      name: 'budget',
      agents: { clerk: () => 'first', second: () => 'second' },
      scheduler: { type: 'workflow', steps: [{ agentId: 'clerk' }, { agentId: 'second' }] },
      budget: { maxDelegations: 1 },
    }),
    teamOf('timeout', () => new Promise<string>(() => {}), { timeoutSeconds: 0.05 }),
    teamOf('remote', remote),
    teamOf('output', await modelOf(['no JSON'], misfit)),
    teamOf('webhook', () => 'done'),
    teamOf('question', asker),
    teamOf('store', () => 'done'),
    defineTeam({
      id: 'rejected',
      name: 'rejected',
      agents: { clerk: failingOnce() },
      scheduler: {
        type: 'workflow',
        steps: [{ agentId: 'clerk', maxRetries: 1 }, { approval: { question: 'Print it?' } }],
      },
    }),
    teamOf('old', () => {
      throw new Error('words that an old log has not')
    }),
  ]
}

function failingOnce(): () => string {
  let count = 0
  return () => {
    count++
    if (count === 1) throw new A2AError('agentUnavailable', 'The press is jammed')
    return 'A card'
  }
}

const tokens = {
  'ann-token': 'ann',
  'op-token': { userId: 'op', scopes: ['tasks:read', 'operator'] },
}

/** The server of all planted causes: what it answers, and the ids of the tasks. */
interface Desk {
  readonly url: string
  readonly ids: ReadonlyMap<string, string>
}

let desk: Desk

beforeAll(async () => {
  let lateBy = 0
  const clock = { ...systemClock, now: () => systemClock.now() + lateBy }
  const kept = createMemoryStore({ maxWaitingMs: 3_600_000, clock })
  let lost: string | undefined
  let old: string | undefined
  const fail = async (): Promise<never> => {
    throw new Error('disk I/O error at sector 7')
  }
  const store = {
    ...kept,
    // A log of an earlier version keeps no words.
    async records(...args: Parameters<typeof kept.records>) {
      const records = await kept.records(...args)
      return args[0] === old
        ? records.map(
            ({ failure: _, ...rest }: LogRecord & { failure?: unknown }) => rest as LogRecord,
          )
        : records
    },
    get: (...args: Parameters<typeof kept.get>) => (args[0] === lost ? fail() : kept.get(...args)),
  }
  const receiver = await createReceiver()
  closing.push(receiver.close)
  const givenUp = createDeferred<void>()
  const nothing = (): void => {}
  const warn = (_: object, text: string): void => {
    if (text === 'webhook delivery given up') givenUp.resolve()
  }
  const server = await createServer({
    agents: await createAgents(),
    store,
    logger: { debug: nothing, info: nothing, warn, error: nothing },
    auth: { authenticators: [bearer({ tokens })] },
    pushNotifications: { guard: { allow: ['127.0.0.1'], allowHttp: true } },
    console: createConsole(),
  })
  const listening = await listen(server, { port: 0, host: '127.0.0.1', logger: false })
  closing.push(() => listening.close())
  const url = `http://127.0.0.1:${listening.port}`
  receiver.answer = (_, response) => void response.writeHead(410).end('ask the janitor')
  const send = async (id: string, taskId?: string): Promise<readonly [string, string]> => {
    const parts = [{ text: taskId === undefined ? 'go' : 'reject' }]
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, taskId }
    const hook = { taskPushNotificationConfig: { id: 'hook', url: receiver.url } }
    const body = JSON.stringify({ message, ...(id === 'webhook' && { configuration: hook }) })
    const headers = { ...as('ann'), 'content-type': 'application/json', 'a2a-version': '1.0' }
    const { json } = await ask(`${url}/agents/${id}/message:send`, { headers, body })
    return [id, json.task.id]
  }
  const [, printing] = await send('rejected')
  const rejected = await send('rejected', printing)
  // One that waits first: what is stored after its time drops it.
  const waiting = await send('question')
  lateBy = 86_400_000
  const others = planted.filter(({ id }) => id !== 'question')
  const ids = new Map([rejected, waiting, ...(await Promise.all(others.map(({ id }) => send(id))))])
  await givenUp.promise
  lost = ids.get('store')
  const [, oldId] = await send('old')
  old = oldId
  ids.set('old', oldId)
  desk = { url, ids }
})

afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

function as(who: string): Record<string, string> {
  return { authorization: `Bearer ${who}-token` }
}

/** Runs the command several times in one process, which a busy machine starts sooner than several. */
const inTurn = `
  const { run } = await import(process.argv[1])
  for (const args of JSON.parse(process.argv[2])) {
    await run(args)
    process.stdout.write('\\f')
  }
  process.exit(0)`

/** What `corral task why` prints of these tasks to a caller. */
async function why(who: string, ids: readonly string[]): Promise<readonly string[]> {
  const commands = ids.map((id) => {
    const place = [`${desk.url}/agents/${id}`, desk.ids.get(id)]
    return ['task', 'why', ...place, '--bearer-token', `${who}-token`]
  })
  const program = new URL('program.js', pathToFileURL(main)).href
  const flags = ['--input-type=module', '-e', inTurn]
  const { stdout } = await startProcess(process.execPath, [
    ...flags,
    program,
    JSON.stringify(commands),
  ]).ended
  return stdout.split('\f')
}

describe('an operator is told why', () => {
  test('each of them failed, by the command', async () => {
    const texts = await why(
      'op',
      planted.map(({ id }) => id),
    )
    for (const [place, one] of planted.entries()) {
      const text = texts[place]
      const words = [one.what, one.who, one.own, one.remedy, `docs/guides/errors.md#${one.section}`]
      for (const part of words) expect(text, one.id).toContain(part)
      expect(text).not.toContain('sk-planted')
    }
  })

  test.each(planted)('$id failed, in the console', async (one) => {
    const place = `${desk.url}/console/api/tasks/${desk.ids.get(one.id)}`
    const { json } = await ask(place, { headers: as('op') })
    const [first]: readonly Explanation[] = json.why ?? [json.error.why]
    expect(first).toMatchObject({
      cause: one.cause,
      link: `docs/guides/errors.md#${one.section}`,
      what: expect.stringContaining(one.what),
      remedy: expect.stringContaining(one.remedy),
    })
    const { member, team, attempt, words } = first ?? { words: [] }
    expect(`${member}${team ? ` of team ${team}` : ''}, attempt ${attempt}`).toContain(one.who)
    expect(words.join('\n')).toContain(one.own)
  })
})

describe('a caller without the scope operator', () => {
  /** A guard, a budget and a limit of time speak to the caller in words that are made for the caller. */
  const secret = planted.filter(({ id }) => !['guard', 'budget', 'webhook'].includes(id))

  test.each(secret)('reads no words of the error of $id', async ({ id, own }) => {
    const taskId = desk.ids.get(id)
    const [task, log, got] = await Promise.all([
      ask(`${desk.url}/console/api/tasks/${taskId}`, { headers: as('ann') }),
      ask(`${desk.url}/console/api/tasks/${taskId}/records`, { headers: as('ann') }),
      ask(`${desk.url}/agents/${id}/tasks/${taskId}`, {
        headers: { ...as('ann'), 'a2a-version': '1.0', 'a2a-extensions': traceExtension },
      }),
    ])
    for (const { text } of [task, log, got]) expect(text).not.toContain(own)
    expect(task.json.why ?? task.json.error?.why).toBeUndefined()
  })

  test('is told the code and a safe sentence by the command', async () => {
    const [text] = await why('ann', ['wrong-key'])
    expect(text).toContain('failed (processingError)')
    expect(text).toContain('An agent of the team could not answer')
    expect(text).toContain('scope operator')
    expect(text).not.toContain('401')
  })
})

test('what a task continued after is not what ended it', async () => {
  const whyOf = async (id: string): Promise<readonly Explanation[]> => {
    const place = `${desk.url}/console/api/tasks/${desk.ids.get(id)}`
    return (await ask(place, { headers: as('op') })).json.why
  }
  expect((await whyOf('model-down')).map(({ attempt, continued }) => [attempt, continued])).toEqual(
    [
      [2, undefined],
      [1, true],
    ],
  )
  expect(await whyOf('tool')).toMatchObject([{ cause: 'toolThrew', continued: true }])
  expect(await whyOf('rejected')).toMatchObject([{ cause: 'agentUnavailable', continued: true }])
  const [text] = await why('op', ['rejected'])
  expect(text).toMatch(/^task \S+ rejected\n/)
  expect(text).toContain('clerk of team rejected, attempt 1; the task continued')
})

test('a task that is asked of the wrong agent is not said to have expired', async () => {
  const id = desk.ids.get('quota') ?? ''
  const asked = ['task', 'why', `${desk.url}/agents/guard`, id, '--bearer-token']
  const told = await corral([...asked, 'op-token'])
  expect(told.stdout).toContain('The task is at another agent of this server')
  expect(told.stdout).toContain('/agents/quota')
  expect(told.stdout).not.toContain('expired')
  const other = await corral([...asked, 'ann-token'])
  expect(other.stdout + other.stderr).not.toContain('quota')
})

test.each(['sqlite', 'PostgreSQL'])(
  'a file or database of %s that is lost is the cause',
  (kind) => {
    const error =
      kind === 'sqlite'
        ? toStoreError('read', { code: 26, message: 'file is not a database' })
        : toDatabaseError('read', new Error('connect ECONNREFUSED'))
    const told = explainError(error, failureOf(error, String), { id: 'some' })
    expect(told).toMatchObject({ cause: 'storeDown', member: 'the task store' })
  },
)

test('a log of an earlier version is explained by the code of the task', async () => {
  const place = `${desk.url}/console/api/tasks/${desk.ids.get('old')}`
  const { json } = await ask(place, { headers: as('op') })
  expect(json.why).toMatchObject([{ cause: 'processingError', member: 'old', words: [] }])
})

test('--trace says why below the tree', async () => {
  const args = [`${desk.url}/agents/remote`, desk.ids.get('remote') ?? '']
  const { stdout } = await corral(['task', 'get', ...args, '--trace', '--bearer-token', 'op-token'])
  expect(stdout).toContain('✗ clerk (agentUnavailable)')
  expect(stdout).toContain('docs/guides/errors.md#remote-agent-gone')
})

test('everyone is told on a server of this machine that asks for no credentials', async () => {
  const failing = defineAgent({ name: 'Clerk' }, () => {
    throw new TypeError('no shelf 42')
  })
  const server = await createServer({ agents: [failing], logger: false })
  const listening = await listen(server, { port: 0, host: '127.0.0.1', logger: false })
  closing.push(() => listening.close())
  const url = `http://127.0.0.1:${listening.port}`
  const sent = await corral(['send', url, 'go', '--trace'])
  expect(sent.stderr).toContain('TypeError: no shelf 42')
  expect(sent.stderr).toContain('docs/guides/errors.md#agent-threw')
})
