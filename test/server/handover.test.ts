import { expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createServer, type Server } from '../../src/server/index.ts'
import { createDeferred, type Deferred } from '../../src/shared/async.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { patient } from '../support/patient.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'

/** A replica with an agent that others can go on with, and one whose turns only it can end. */
interface Replica {
  readonly server: Server
  /** Resolve when a turn of that agent has begun here. */
  readonly resumable: Deferred<void>
  readonly stubborn: Deferred<void>
  /** Lets the turns of the second one end. */
  readonly end: Deferred<void>
  /** Sends a task and waits until its turn has begun here. */
  begin(agent: 'resumable' | 'stubborn'): Promise<void>
}

describePostgres('a replica that stops', () => {
  const database = usePostgres()

  async function open(schema: string): Promise<Replica> {
    const store = await openPostgresStore({ url: database.url, schema, logger: false })
    const begun = { resumable: createDeferred<void>(), stubborn: createDeferred<void>() }
    const end = createDeferred<void>()
    const waiting = defineAgent(
      { name: 'resumable', resumable: true },
      async function* (_, { signal }) {
        begun.resumable.resolve()
        yield 'begun'
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        )
      },
    )
    const stubborn = defineAgent({ name: 'stubborn' }, async function* () {
      begun.stubborn.resolve()
      yield 'begun'
      await end.promise
    })
    // Longer than any test waits.
    const timeouts = { shutdownMs: 600_000 }
    const server = await createServer({
      store,
      agents: [waiting, stubborn],
      timeouts,
      limits: patient,
    })
    await server.recover()
    onTestFinished(async () => {
      end.resolve()
      await server.close()
      await store.close()
    })
    return {
      server,
      ...begun,
      end,
      async begin(agent) {
        const message = { messageId: agent, role: 'ROLE_USER', parts: [{ text: 'go' }] } as const
        const configuration = { returnImmediately: true }
        await server.dispatch(agent)('SendMessage', { message, configuration }, {})
        await begun[agent].promise
      },
    }
  }

  test('hands over what others can go on with before it has ended what they cannot', async () => {
    const schema = database.newSchema()
    const [a, b] = [await open(schema), await open(schema)]
    await a.begin('stubborn')
    await a.begin('resumable')
    const closing = a.server.close()
    await b.resumable.promise
    a.end.resolve()
    await closing
    const [ended] = (await b.server.store.list({ scope: scopeOf('stubborn'), limit: 1 })).tasks
    expect(ended?.head).toMatchObject({ state: 'TASK_STATE_COMPLETED', busy: false })
  })
})

function scopeOf(agent: string) {
  return { agent, tenant: '', owner: '' }
}
