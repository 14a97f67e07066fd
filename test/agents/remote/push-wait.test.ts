import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { A2AAgent, type A2AAgentOptions } from '../../../src/agents/remote/agent.ts'
import { A2AClient } from '../../../src/client/client.ts'
import { answerParts, textOf, userMessage } from '../../../src/protocol/task.ts'
import {
  createServer,
  listen,
  type Server,
  type ServerOptions,
  toNodeHandler,
} from '../../../src/server/index.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { openSqliteStore } from '../../../src/store/index.ts'
import { defineTeam } from '../../../src/team/team.ts'
import { createFakeClock, type FakeClock } from '../../../src/testing/index.ts'
import { serveSdk03Agent } from '../../interop/sdk03-agent.ts'
import { openReplicas } from '../../replicas/scene.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'

const guard = { allow: ['127.0.0.0/8'], allowHttp: true }
const safety = 300_000

/** A remote server whose agent works until its gate is opened, and every request that it got, by method. */
async function openFar(options: Partial<ServerOptions> = {}) {
  const gate = createDeferred<void>()
  const asked: string[] = []
  const agent = defineAgent({ name: 'Far', resumable: true }, async function* (message) {
    yield 'begun, '
    asked.push(textOf(message.parts))
    await gate.promise
    yield 'done'
  })
  const methods: string[] = []
  const server = await createServer({
    agents: [agent],
    pushNotifications: { guard },
    timeouts: { shutdownMs: 0 },
    routes({ path, body }) {
      if (!path.startsWith('/.well-known')) methods.push(String(JSON.parse(body || '{}').method))
      return undefined
    },
    ...options,
  })
  const { url, close } = await listen(server, { port: 0, host: '127.0.0.1' })
  onTestFinished(close)
  return { url, server, gate, asked, methods }
}

/** A URL that is known before there is a server, and what is posted to it. */
async function openFront() {
  const posted: { readonly path: string; readonly token: string; status?: number }[] = []
  let handle: RequestListener = (_, response) => response.writeHead(503).end()
  const http = createHttpServer((request, response) => {
    const token = String(request.headers['x-a2a-notification-token'])
    const one: (typeof posted)[number] = { path: request.url ?? '', token }
    posted.push(one)
    response.on('finish', () => (one.status = response.statusCode))
    handle(request, response)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  const { port } = http.address() as AddressInfo // a listening TCP server has one
  const serve = ({ handle: answer, intake }: Server): void => {
    handle = toNodeHandler(answer, { intake })
  }
  return { url: `http://127.0.0.1:${port}`, posted, serve }
}

type Front = Awaited<ReturnType<typeof openFront>>

function remote(endpoint: string, clock: FakeClock, more: Partial<A2AAgentOptions> = {}): A2AAgent {
  const options = { id: 'near', name: 'Near', timeoutSeconds: 90, maxRetries: 0, random: () => 0 }
  const agent = new A2AAgent({ ...options, endpoint, clock, wait: 'push', ...more })
  onTestFinished(() => agent.close())
  return agent
}

async function openNear(
  far: A2AAgent,
  clock: FakeClock,
  { front, ...options }: Partial<ServerOptions> & { readonly front?: Front } = {},
): Promise<Server> {
  const scheduler = { type: 'workflow', steps: [{ agentId: 'near' }] } as const
  const team = defineTeam({ id: 'team', name: 'Team', agents: { near: far }, scheduler, clock })
  const server = await createServer({
    agents: [team],
    timeouts: { shutdownMs: 0 },
    ...(front && { publicUrl: front.url }),
    ...options,
  })
  front?.serve(server)
  onTestFinished(() => server.close())
  return server
}

/** Sends a message without waiting; gives the id of its task. */
async function begin(server: Server, text = 'go'): Promise<string> {
  const request = { message: userMessage(text), configuration: { returnImmediately: true } }
  const sent = await server.dispatch()('SendMessage', request, {})
  if (!('task' in sent)) throw new Error('a task was expected')
  return sent.task.id
}

async function ended(server: Server, id: string): Promise<string> {
  for await (const _ of await server.dispatch()('SubscribeToTask', { id }, {}));
  const task = await server.dispatch()('GetTask', { id }, {})
  return `${task.status.state}: ${textOf(answerParts(task))}`
}

/** Waits until the turn waits for a report, with no connection and no other timer of its own. */
async function waiting(clock: FakeClock): Promise<void> {
  await clock.timer((ms) => ms === safety)
}

describe('a remote task that is waited for by push', () => {
  test('continues its team when it reports, though the clock stands still', async () => {
    const [clock, front, far] = [createFakeClock(), await openFront(), await openFar()]
    const near = await openNear(remote(far.url, clock), clock, { front })
    const id = await begin(near)
    await waiting(clock)
    far.gate.resolve()
    expect(await ended(near, id)).toBe('TASK_STATE_COMPLETED: begun, done')
    expect(clock.elapsed()).toBe(0)
    expect(front.posted.every(({ path }) => path === `/webhooks/remote/${id}`)).toBe(true)
    expect(far.methods.filter((method) => /Stream|Subscribe/.test(method))).toEqual([])
    expect(far.methods.filter((method) => method.startsWith('Create'))).toHaveLength(1)
    expect(far.asked).toEqual(['go'])
  })

  test('of a remote that speaks 0.3 alone is reported too', async () => {
    const [clock, front, url] = [createFakeClock(), await openFront(), await serveSdk03Agent()]
    const auth = { type: 'api_key', key: 'k', header: 'X-Key' } as const
    const near = await openNear(remote(url, clock, { auth }), clock, { front })
    const id = await begin(near, 'wait')
    await waiting(clock)
    const records = await near.store.records(id, 0)
    const state = records.find((record) => record.kind === 'state' && record.key.endsWith('near'))
    const taskId = /"taskId":"([^"]+)"/.exec(JSON.stringify(state))?.[1] ?? ''
    const client = new A2AClient({ serverUrl: url })
    onTestFinished(() => client.close())
    await client.cancelTask(taskId)
    expect(await ended(near, id)).toMatch(/^TASK_STATE_(FAILED|CANCELED)/)
    expect(clock.elapsed()).toBe(0)
    expect(front.posted.map(({ status }) => status)).toContain(204)
  })

  test('is polled every 5 minutes where no report comes', async () => {
    const [clock, far] = [createFakeClock(), await openFar()]
    const front = await openFront()
    const near = await openNear(remote(far.url, clock), clock, { front })
    const deaf = await createServer({ agents: [defineAgent({ name: 'Deaf' }, () => 'no')] })
    onTestFinished(() => deaf.close())
    front.serve(deaf)
    const id = await begin(near)
    await waiting(clock)
    far.gate.resolve()
    await expect.poll(() => front.posted.at(-1)?.status).toBe(404)
    await clock.elapse(safety)
    expect(await ended(near, id)).toBe('TASK_STATE_COMPLETED: begun, done')
  })

  test('is not woken by a report with another token, by one without, or by one for another task', async () => {
    const [clock, front, far] = [createFakeClock(), await openFront(), await openFar()]
    const near = await openNear(remote(far.url, clock), clock, { front })
    const id = await begin(near)
    await waiting(clock)
    const polls = far.methods.length
    const records = await near.store.records(id, 0)
    const secret = records.find(
      (record) => record.kind === 'state' && record.key === 'corral:callback',
    )
    const token = secret?.kind === 'state' ? String(secret.value) : ''
    const post = async (path: string, headers: Record<string, string>): Promise<number> =>
      (await fetch(`${front.url}/webhooks/remote/${path}`, { method: 'POST', headers })).status
    const named = 'x-a2a-notification-token'
    expect(await post(id, {})).toBe(404)
    expect(await post(id, { [named]: `${token}0` })).toBe(404)
    expect(await post(id, { [named]: token.replace(/^\d+/, '1') })).toBe(404)
    expect(await post(crypto.randomUUID(), { [named]: token })).toBe(404)
    expect((await fetch(`${front.url}/webhooks/remote/${id}`)).status).toBe(405)
    expect(far.methods).toHaveLength(polls)
    expect(await post(id, { [named]: token })).toBe(204)
    await expect.poll(() => far.methods.length).toBe(polls + 1)
    await waiting(clock)
    far.gate.resolve()
    expect(await ended(near, id)).toBe('TASK_STATE_COMPLETED: begun, done')
    // Nothing waits any more.
    expect(await post(id, { [named]: token })).toBe(404)
  })

  test('is subscribed to where the remote has no webhooks', async () => {
    const far = await openFar({ pushNotifications: false })
    const [clock, front] = [createFakeClock(), await openFront()]
    const near = await openNear(remote(far.url, clock), clock, { front })
    const id = await begin(near)
    await expect.poll(() => far.asked).toEqual(['go'])
    far.gate.resolve()
    expect(await ended(near, id)).toBe('TASK_STATE_COMPLETED: begun, done')
    expect(far.methods).toEqual(['SendStreamingMessage'])
    expect(front.posted).toEqual([])
  })

  test('is polled as any other where the remote rejects the webhook', async () => {
    const far = await openFar({ pushNotifications: { guard: {} } })
    const [clock, front] = [createFakeClock(), await openFront()]
    const near = await openNear(remote(far.url, clock), clock, { front })
    const id = await begin(near)
    await clock.elapse(1_000)
    far.gate.resolve()
    const end = ended(near, id)
    let isOver = false
    void end.finally(() => (isOver = true))
    while (!isOver) {
      const ms = await Promise.race([clock.timer((delay) => delay <= 10_000), end.then(() => 0)])
      clock.advance(ms)
    }
    expect(await end).toBe('TASK_STATE_COMPLETED: begun, done')
    expect(far.methods).toContain('CreateTaskPushNotificationConfig')
    expect(front.posted).toEqual([])
  })

  test('is subscribed to, with a warning, where the server has no public URL', async () => {
    const [clock, far] = [createFakeClock(), await openFar()]
    const warnings: string[] = []
    const quiet = (): void => {}
    const warn = (_: object, text: string): void => void warnings.push(text)
    const log = { debug: quiet, info: quiet, warn, error: quiet }
    const near = await openNear(remote(far.url, clock, { log }), clock)
    far.gate.resolve()
    for (const _ of [1, 2]) {
      const id = await begin(near)
      expect(await ended(near, id)).toBe('TASK_STATE_COMPLETED: begun, done')
    }
    expect(warnings).toEqual(['wait: push needs a server with a publicUrl'])
  })
})

const day = 24 * 60 * 60 * 1_000

test('a remote task that takes a day is waited for by push through a crash', async () => {
  const [clock, front, far] = [createFakeClock(), await openFront(), await openFar()]
  const folder = await mkdtemp(join(tmpdir(), 'corral-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const open = async (name: string) => {
    await mkdir(join(folder, name), { recursive: true })
    const store = await openSqliteStore(join(folder, name, 'tasks.db'))
    onTestFinished(() => store.close())
    return openNear(remote(far.url, clock), clock, { front, store })
  }
  const letPass = async (until: number): Promise<void> => {
    while (clock.elapsed() < until) await clock.elapse(safety)
  }
  const first = await open('before')
  const id = await begin(first)
  await letPass(day / 2)
  await waiting(clock)
  // What a crash leaves: the files as they are at this moment.
  await cp(join(folder, 'before'), join(folder, 'after'), { recursive: true })
  await first.close()
  const polls = far.methods.filter((method) => method === 'GetTask').length
  expect(polls).toBeLessThanOrEqual(day / 2 / safety + 3)

  const second = await open('after')
  expect(await second.recover()).toMatchObject({ resumed: 1 })
  await letPass(day)
  await waiting(clock)
  const reports = front.posted.length
  far.gate.resolve()
  expect(await ended(second, id)).toBe('TASK_STATE_COMPLETED: begun, done')
  expect(clock.elapsed()).toBe(day)
  expect(front.posted.length).toBeGreaterThan(reports)
  expect(new Set(front.posted.map(({ token }) => token)).size).toBe(1)
  expect(far.asked).toEqual(['go'])
  const [task] = (await far.server.dispatch()('ListTasks', {}, {})).tasks
  const hooks = await far.server.store.pushConfigs(task?.id ?? '')
  expect(hooks).toHaveLength(1)
})

describePostgres('a report to a replica that does not run the task', () => {
  const database = usePostgres()

  test('wakes the one that does', async () => {
    const [clock, front, far] = [createFakeClock(), await openFront(), await openFar()]
    const replicas = openReplicas(database, remote(far.url, clock), 'never')
    const options = { publicUrl: front.url }
    const [a, b] = [await replicas.open(options), await replicas.open(options)]
    front.serve(b.server)
    const id = await begin(a.server)
    await waiting(clock)
    expect(await replicas.runnerOf(id)).toBe(a.number)
    far.gate.resolve()
    expect(await ended(a.server, id)).toBe('TASK_STATE_COMPLETED: begun, done')
    expect(clock.elapsed()).toBe(0)
    expect(front.posted.map(({ status }) => status)).toContain(204)
  })
})
