import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Agent } from '../../../src/agents/agent.ts'
import type { Task } from '../../../src/protocol/types.ts'
import { createServer, type Server } from '../../../src/server/server.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { newId } from '../../../src/shared/ids.ts'
import { type Talk, type Wild, wiresOf } from '../../../test/contracts/binding.ts'
import type { SharedStore } from '../../../test/contracts/feed/world.ts'
import { saying } from '../../../test/replicas/scene.ts'
import { eventsOf, type SeenEvent } from '../../../test/replicas/subscription.ts'
import { createPollingClock, openPostgresWorld } from '../../../test/store/postgres/world.ts'
import { newSchemaName } from '../../../test/support/postgres.ts'
import { createReceiver, type Receiver } from '../../../test/webhooks/receiver.ts'
import type { Meter } from './meter.ts'

/** The lease of the replicas; all that is promised within a time counts from it. */
export const leaseMs = 1_200

/** A replica on a stage. */
export interface StagedReplica {
  readonly server: Server
  readonly store: SharedStore
  readonly wire: Talk
}

/** Two replicas on one database, each behind a proxy, and a user who comes back until there is an answer. */
export interface Stage {
  readonly a: StagedReplica
  readonly b: StagedReplica
  readonly receiver: Receiver
  /** Asks a replica, and the other one where that cannot answer now, in turn. */
  ask(first: 'a' | 'b', method: Method, params: Wild): Promise<Wild>
  /**
   * Follows a task at the second replica, from the beginning to its end; a stream that breaks is opened again. Resolves when
   * the first event is there.
   */
  follow(taskId: string): Promise<Followed>
  /** The whole log of a task, as the database has it, read past the proxies. */
  logOf(taskId: string): Promise<string>
  close(): Promise<void>
}

/** A task that is followed. */
interface Followed {
  /** All of its events, once it has ended. */
  readonly toEnd: Promise<readonly SeenEvent[]>
}

type Method = 'SendMessage' | 'CancelTask' | 'GetTask'

const push = { guard: { allow: ['127.0.0.1'], allowHttp: true } }

/** What a stage is made of. */
export interface StageOptions {
  readonly url: string
  readonly agent: (stage: () => Stage) => Agent
  readonly meter: Meter
  /** Called whenever the user sees something new. */
  progressed(): void
}

/** Opens a stage in a schema of its own. */
export async function openStage(options: StageOptions): Promise<Stage> {
  const { url, meter, progressed } = options
  const schema = newSchemaName()
  const world = openPostgresWorld({ url, newSchema: () => schema }, leaseMs)
  const watcher = new Client({ connectionString: url })
  watcher.on('error', () => {})
  await watcher.connect()
  const receiver = await createReceiver()
  const agent = options.agent(() => stage)
  const open = async (name: string): Promise<StagedReplica> => {
    const timing = { leaseMs, beatMs: 200, lookMs: 50 }
    const store = await world.open({ name, ...timing }, meter.tapOf(name))
    const server = await createServer({
      agents: [agent],
      store,
      clock: createPollingClock(0, leaseMs),
      logger: false,
      timeouts: { shutdownMs: 0 },
      pushNotifications: push,
    })
    const [wire] = wiresOf(server.handle)
    if (!wire) throw new Error('There is no wire')
    return { server, store, wire }
  }
  const [a, b] = [await open('a'), await open('b')]
  const stage: Stage = {
    a,
    b,
    receiver,
    ask: (first, method, params) =>
      askUntilAnswered({ a, b }, first, { method, params, progressed }),
    follow: (taskId) => follow(b, taskId, progressed),
    async logOf(taskId) {
      const text = `SELECT coalesce((SELECT log FROM ${schema}.task WHERE id = $1), '') ||
        coalesce((SELECT string_agg(records, '' ORDER BY last_seq) FROM ${schema}.log WHERE task_id = $1), '') AS log`
      return String((await watcher.query<{ log: string }>(text, [taskId])).rows[0]?.log)
    },
    async close() {
      for (const { store } of [a, b]) world.proxyOf(store).kill()
      // One that is cut off would wait for what it cannot write any more.
      const closing = [a, b].map(({ server }) => server.close())
      await Promise.all([a, b].map(({ store }) => store.close()))
      await Promise.all(closing)
      await world.close()
      await receiver.close()
      await watcher.query(`DROP SCHEMA ${schema} CASCADE`)
      await watcher.end()
    },
  }
  return stage
}

interface Question {
  readonly method: Method
  readonly params: Wild
  progressed(): void
}

const pauseMs = 20

async function askUntilAnswered(
  replicas: Pick<Stage, 'a' | 'b'>,
  first: 'a' | 'b',
  { method, params, progressed }: Question,
): Promise<Wild> {
  const headers = { 'idempotency-key': newId() }
  for (let name = first; ; name = name === 'a' ? 'b' : 'a') {
    const { result, body } = await replicas[name].wire.ask(method, params, headers)
    if (result) {
      progressed()
      return result
    }
    if (!/try again|unavailable|cannot (?:read|write)|shutting down/i.test(JSON.stringify(body)))
      throw new Error(`${method} at ${name}: ${JSON.stringify(body)}`)
    await sleep(pauseMs)
  }
}

async function follow(
  replica: StagedReplica,
  taskId: string,
  progressed: () => void,
): Promise<Followed> {
  const seen: SeenEvent[] = []
  const isOpen = createDeferred<void>()
  async function read(): Promise<readonly SeenEvent[]> {
    for (;;) {
      try {
        for await (const one of await eventsOf(replica, taskId, seen.at(-1)?.id)) {
          seen.push(one)
          isOpen.resolve()
          progressed()
          if (isLast(one)) return seen
        }
      } catch {
        // It is opened again.
      }
      await sleep(pauseMs)
    }
  }
  const toEnd = read()
  await isOpen.promise
  return { toEnd }
}

function isLast({ event }: SeenEvent): boolean {
  const { state } = (event.task ?? event.statusUpdate)?.status ?? {}
  return (
    state === 'TASK_STATE_COMPLETED' ||
    state === 'TASK_STATE_CANCELED' ||
    state === 'TASK_STATE_FAILED'
  )
}

/** Begins a task, or sends it a message, without waiting for its turn. */
export async function say(
  stage: Stage,
  at: 'a' | 'b',
  { text, taskId, webhook }: { text: string; taskId?: string; webhook?: string },
): Promise<Task> {
  const configuration = {
    returnImmediately: true,
    ...(webhook !== undefined && { taskPushNotificationConfig: { url: webhook } }),
  }
  return (await stage.ask(at, 'SendMessage', saying(text, taskId, { configuration }))).task
}
