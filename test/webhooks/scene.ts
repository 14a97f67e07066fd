import { createGuard, type Guard } from '../../src/network/guard.ts'
import type { StreamResponse, Task, TaskState } from '../../src/protocol/types.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { LogRecord, PushConfigRecord, RecordDraft, Store } from '../../src/store/store.ts'
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts'
import type { EncodeWebhook } from '../../src/webhooks/deliver.ts'
import { createWebhooks, type Webhooks } from '../../src/webhooks/webhooks.ts'
import { createReceiver, type Receiver } from './receiver.ts'

/** A store with tasks, receivers, and the webhooks between them. */
export interface Scene {
  readonly store: Store
  readonly clock: FakeClock
  readonly guard: Guard
  /** Opens webhooks on the scene's store; again after `close`, as a restart does. */
  open(options?: Partial<Parameters<typeof createWebhooks>[0]>): Promise<Webhooks>
  receiver(port?: number): Promise<Receiver>
  /** Appends records to a task's log, making the task with the first of them. */
  append(taskId: string, ...drafts: RecordDraft[]): Promise<void>
  /** Makes a task of a principal. */
  begin(taskId: string, owner: string): Promise<void>
  /** Stores a webhook of a task. */
  hook(record: Partial<PushConfigRecord> & Pick<PushConfigRecord, 'config'>): Promise<void>
  /** Resolves when a webhook's cursor has come this far. */
  seen(seq: number, id?: string): Promise<void>
  /** Resolves when the store answers true; asked after every commit. */
  until(check: () => Promise<boolean>): Promise<void>
  close(): Promise<void>
}

/** The 1.0 payload, enough to tell events apart. */
export const encode: EncodeWebhook = (_record, event) => ({
  contentType: 'application/a2a+json',
  body: JSON.stringify(event),
})

/** A change of status as a record of the log. */
export function status(state: TaskState, taskId = 't'): RecordDraft {
  const event = { taskId, contextId: 'c', status: { state, timestamp: '2026-01-01T00:00:00.000Z' } }
  return { kind: 'event', event: { statusUpdate: event } }
}

/** An artifact's chunk as a record of the log. */
export function chunk(text: string, taskId = 't'): RecordDraft {
  const artifact = { artifactId: 'a', parts: [{ text }] }
  return {
    kind: 'event',
    event: { artifactUpdate: { taskId, contextId: 'c', artifact, append: text !== '1' } },
  }
}

/** The texts of the chunks that a receiver got, and the states of the status events, in order. */
export function told(receiver: Receiver): readonly string[] {
  return receiver.requests.map(({ body }) => {
    const event = JSON.parse(body) as StreamResponse // written by `encode` above
    if ('artifactUpdate' in event) {
      const [part] = event.artifactUpdate.artifact.parts
      return part && 'text' in part ? part.text : ''
    }
    return 'statusUpdate' in event ? event.statusUpdate.status.state : 'task'
  })
}

/** Opens a scene. Its random numbers are 1, so that waits are the whole doubled delay. */
export function createScene(kept: Store = createMemoryStore()): Scene {
  const listeners = new Set<() => void>()
  const store: Store = {
    ...kept,
    async commit(writes) {
      const results = await kept.commit(writes)
      for (const listener of listeners) listener()
      return results
    },
  }
  const clock = createFakeClock()
  const guard = createGuard({ allow: ['127.0.0.1'], allowHttp: true })
  const opened: { close(): Promise<void> }[] = []

  async function until(check: () => Promise<boolean>): Promise<void> {
    for (;;) {
      const next = new Promise<void>((resolve) => {
        const listener = (): void => {
          listeners.delete(listener)
          resolve()
        }
        listeners.add(listener)
      })
      if (await check()) return
      await next
    }
  }

  return {
    store,
    clock,
    guard,
    until,
    async open(options = {}) {
      const webhooks = createWebhooks({
        store,
        guard: () => guard,
        encode,
        clock,
        random: () => 1,
        ...options,
      })
      opened.push(webhooks)
      await webhooks.start()
      return webhooks
    },
    async receiver(port) {
      const receiver = await createReceiver(port)
      opened.push(receiver)
      return receiver
    },
    append: (taskId, ...drafts) => append(store, taskId, drafts),
    begin: (taskId, owner) =>
      append(store, taskId, [status('TASK_STATE_SUBMITTED', taskId)], owner),
    async hook(record) {
      const filled = {
        taskId: 't',
        id: 'h',
        dialect: '1.0',
        cursor: 0,
        agent: 'a',
        ...record,
      } as const
      await store.commit([{ type: 'pushConfig', record: filled }])
    },
    seen: (seq, id = 'h') =>
      until(async () => (await store.pushConfigs('t')).some((c) => c.id === id && c.cursor >= seq)),
    async close() {
      // Attempts under way must not wait for a grace that this clock never ends.
      const closing = opened.map((item) => item.close())
      clock.advance(10_000)
      await Promise.all(closing)
      await guard.close()
    },
  }
}

async function append(
  store: Store,
  id: string,
  drafts: readonly RecordDraft[],
  owner = '',
): Promise<void> {
  const stored = await store.get(id)
  const expectedVersion = stored?.version ?? 0
  // Numbering keeps each draft's own kind, which the spread widens.
  const records = drafts.map(
    (draft, i) => ({ ...draft, seq: expectedVersion + 1 + i }) as LogRecord,
  )
  const last = drafts.findLast((draft) => draft.kind === 'event' && 'statusUpdate' in draft.event)
  const change =
    last?.kind === 'event' && 'statusUpdate' in last.event ? last.event.statusUpdate : undefined
  const task: Task = {
    id,
    contextId: 'c',
    ...stored?.task,
    status: change?.status ?? stored?.task.status ?? { state: 'TASK_STATE_SUBMITTED' },
  }
  const head = {
    id,
    scope: stored?.head.scope ?? { agent: 'a', tenant: '', owner },
    contextId: 'c',
    state: task.status.state,
    timestamp: '2026-01-01T00:00:00.000Z',
    busy: task.status.state === 'TASK_STATE_WORKING',
    generation: 1,
    build: '',
  }
  const isSnapshot = !stored || change !== undefined
  const write = {
    type: 'task',
    head,
    expectedVersion,
    records,
    ...(isSnapshot && { task }),
  } as const
  await store.commit([write])
}
