import { expect, onTestFinished, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { authenticators } from '../../src/server/access/auth.ts'
import { createServer, type Server, type ServerOptions } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../../src/store/postgres/store.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { patient } from '../support/patient.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'

describePostgres('a server among replicas', () => {
  const database = usePostgres()

  async function open(
    schema: string,
    options: Partial<ServerOptions> = {},
    timing: Pick<PostgresStoreOptions, 'leaseMs' | 'beatMs'> = {},
  ): Promise<Server> {
    const { url } = database
    const store = await openPostgresStore({ url, schema, lookMs: 50, logger: false, ...timing })
    const agents = [createScriptedAgent()]
    const server = await createServer({
      agents,
      timeouts: { shutdownMs: 0 },
      ...options,
      limits: { ...patient, ...options.limits },
      store,
      logger: false,
    })
    onTestFinished(async () => {
      await server.close()
      await store.close()
    })
    await server.recover()
    return server
  }

  async function page(server: Server, path: string, headers: Record<string, string> = {}) {
    const { status, body } = await server.handle({
      method: 'GET',
      path,
      query: '',
      headers,
      body: '',
    })
    return { status, body: String(body) }
  }

  /** Both know of each other by what they read of the database, which takes a moment. */
  async function untilTwo(...servers: Server[]): Promise<void> {
    for (const { store } of servers) await expect.poll(() => store.feed?.replicas).toBe(2)
  }

  test('/health names the replicas to those whom it knows, and to nobody else', async () => {
    const schema = database.newSchema()
    const auth = { authenticators: [authenticators.bearer({ tokens: { secret: 'anna' } })] }
    const one = await open(schema, { auth })
    const two = await open(schema, { auth })
    const known = await page(one, '/health', { authorization: 'Bearer secret' })
    expect(JSON.parse(known.body)).toMatchObject({
      status: 'healthy',
      cluster: {
        replica: one.store.feed?.replica,
        members: [
          {
            number: one.store.feed?.replica,
            alive: true,
            tasks: 0,
            agents: [{ agent: 'scripted' }],
          },
          { number: two.store.feed?.replica, alive: true },
        ],
        orphans: 0,
        inbox: 0,
        synchronousStandby: false,
      },
    })
    expect(JSON.parse((await page(one, '/health')).body)).not.toHaveProperty('cluster')
  })

  test('/metrics counts replicas, tasks that run here and those taken over', async () => {
    const schema = database.newSchema()
    const waiting = createDeferred<void>()
    const agent: Agent = {
      ...createScriptedAgent(),
      resumable: true,
      async *process(_message, turn) {
        yield turn.status('TASK_STATE_WORKING')
        await waiting.promise
        yield turn.status('TASK_STATE_COMPLETED')
      },
    }
    const one = await open(schema, { agents: [agent] })
    const two = await open(schema, { agents: [agent] })
    await untilTwo(one, two)
    const message = { messageId: 'm', role: 'ROLE_USER' as const, parts: [{ text: 'hello' }] }
    const configuration = { returnImmediately: true }
    await one.dispatch()('SendMessage', { message, configuration }, {})
    expect((await page(one, '/metrics')).body).toMatch(/^corral_replicas_alive 2$/m)
    expect((await page(one, '/metrics')).body).toMatch(/^corral_tasks_run_here 1$/m)
    await one.close()
    await expect
      .poll(async () => (await page(two, '/metrics')).body)
      .toMatch(/^corral_tasks_taken_over 1$/m)
    waiting.resolve()
  })

  test('is 503 and says that it drains while it closes', async () => {
    const server = await open(database.newSchema())
    const closed = server.close()
    const { status, body } = await page(server, '/health')
    expect({ status, body: JSON.parse(body) }).toMatchObject({
      status: 503,
      body: { status: 'unhealthy', draining: true },
    })
    await closed
  })

  test('is 503 while it has no lease, and healthy again with the next one', async () => {
    const schema = database.newSchema()
    const server = await open(schema, {}, { leaseMs: 1_500, beatMs: 200 })
    await database.query('BEGIN')
    await database.query(`LOCK TABLE ${schema}.replica IN ACCESS EXCLUSIVE MODE`)
    const health = async () => JSON.parse((await page(server, '/health')).body)
    await expect
      .poll(health)
      .toMatchObject({ status: 'unhealthy', reason: 'This replica has no lease now' })
    await database.query('COMMIT')
    await expect.poll(health).toMatchObject({ status: 'healthy' })
  })

  test('lets a client have its part of the limit here', async () => {
    const schema = database.newSchema()
    const limits = { requests: 7 }
    const one = await open(schema, { limits })
    const two = await open(schema, { limits })
    await untilTwo(one, two)
    const refused = async (): Promise<number> => {
      for (let count = 1; count <= 8; count++) {
        const asked = one.dispatch()('ListTasks', {}, { client: '10.0.0.1' })
        if (
          await Promise.resolve(asked).then(
            () => false,
            () => true,
          )
        )
          return count
      }
      return 0
    }
    // Half of seven, and not less: the fifth is one too many.
    expect(await refused()).toBe(5)
  })
})

test('a server that has its store to itself says nothing of replicas', async () => {
  const server = await createServer({ agents: [createScriptedAgent()] })
  onTestFinished(() => server.close())
  const ask = { method: 'GET', query: '', headers: {}, body: '' }
  const health = await server.handle({ ...ask, path: '/health' })
  expect(JSON.parse(String(health.body))).not.toHaveProperty('cluster')
  const metrics = await server.handle({ ...ask, path: '/metrics' })
  expect(String(metrics.body)).not.toContain('corral_replicas')
})
