import { A2AError } from '../protocol/errors.ts'
import { hopsExtension } from '../protocol/extensions.ts'
import type { Message, Task } from '../protocol/types.ts'
import { isSame } from '../shared/json.ts'
import { scopeKey } from '../store/scope.ts'
import type { Scope, Store } from '../store/store.ts'
import { KeyTaken } from './faults.ts'

/** Sends a message once per idempotency key and caller, however often it is repeated. */
type SendOnce<R> = (scope: Scope, key: string, send: SendOnceSteps<R>) => Promise<R>

/** What a send with a key can turn into. */
interface SendOnceSteps<R> {
  readonly message: Message
  /** Takes the message in; the task must exist when this resolves. */
  first(): Promise<R>
  /** The answer to a repetition: what became of the first, which came as this message where that is known. */
  repeat(taskId: string, first?: Message): Promise<R>
}

/**
 * Makes the keeper of keys: the store knows the ones of the past, this the ones on their way to it. Another message under
 * a key that was used is refused with `invalidParams`.
 */
export function createSendOnce<R extends { task(): Promise<Task> }>(store: Store): SendOnce<R> {
  const underway = new Map<string, Promise<void>>()

  async function repeatOrFirst(scope: Scope, key: string, steps: SendOnceSteps<R>): Promise<R> {
    const { message, first, repeat } = steps
    const { taskId } = message
    const made = await store.findByKey(scope, key)
    const known =
      made ?? (taskId && (await store.get(taskId, scope, { light: true })) ? taskId : undefined)
    const used = known === undefined ? undefined : await messageWith(store, known, key)
    if (known !== undefined && (used || made)) {
      if (used && !isRepetition(message, used)) throw keyReused()
      return repeat(known, used)
    }
    const sent = await first()
    try {
      await sent.task()
      return sent
    } catch (thrown) {
      // Another replica was first, and its task is there to be found.
      if (thrown instanceof KeyTaken) return repeatOrFirst(scope, key, steps)
      throw thrown
    }
  }

  return async function sendOnce(scope, key, steps): Promise<R> {
    const name = `${scopeKey(scope)}\n${key}`
    for (let other = underway.get(name); other; other = underway.get(name)) await other
    let done: () => void = () => {}
    underway.set(name, new Promise((resolve) => (done = resolve)))
    try {
      return await repeatOrFirst(scope, key, steps)
    } finally {
      underway.delete(name)
      done()
    }
  }
}

const pageSize = 128

/** The message that came to a task with this key, if its inbox or its log holds one; older logs name no keys. */
async function messageWith(
  store: Store,
  taskId: string,
  key: string,
): Promise<Message | undefined> {
  for (const { entry } of (await store.feed?.inbox(taskId)) ?? [])
    if (entry.kind === 'message' && entry.request.idempotencyKey === key) return entry.message
  for (let after = 0; ; ) {
    const records = await store.records(taskId, after, pageSize)
    for (const record of records)
      if (record.kind === 'message' && record.request.idempotencyKey === key) return record.message
    const last = records.at(-1)
    if (!last || records.length < pageSize) return undefined
    after = last.seq
  }
}

/**
 * Whether a message says what an earlier one said. Its id may be another, since some clients make one for each attempt;
 * task and context may be missing where the first message made them; and the way that it came is not what it says.
 */
function isRepetition(message: Message, first: Message): boolean {
  return (
    (message.taskId === undefined || message.taskId === first.taskId) &&
    (message.contextId === undefined || message.contextId === first.contextId) &&
    isSame(said(message), said(first))
  )
}

function said({ role, parts, metadata, extensions, referenceTaskIds }: Message): object {
  const { [hopsExtension]: _, ...rest } = metadata ?? {}
  return { role, parts, metadata: rest, extensions, referenceTaskIds }
}

function keyReused(): A2AError {
  return new A2AError(
    'invalidParams',
    'This Idempotency-Key came with another message before; send a new key with a new message',
    { reason: 'IDEMPOTENCY_KEY_REUSED' },
  )
}
