import { scopeKey } from '../store/scope.ts'
import type { Scope, Store } from '../store/store.ts'
import type { SendResult } from './send-result.ts'

/** Sends a message once per idempotency key and caller, however often it is repeated. */
type SendOnce = (scope: Scope, key: string, send: SendOnceSteps) => Promise<SendResult>

/** What a send with a key can turn into. */
interface SendOnceSteps {
  /** The task that the message continues, if it does: its log then knows the key. */
  readonly taskId?: string | undefined
  /** Takes the message in; the task must exist when this resolves. */
  first(): Promise<SendResult>
  /** The answer to a repetition: what became of the first. */
  repeat(taskId: string): Promise<SendResult>
}

/** Makes the keeper of keys: the store knows the ones of the past, this the ones on their way to it. */
export function createSendOnce(store: Store): SendOnce {
  const underway = new Map<string, Promise<void>>()

  return async function sendOnce(scope, key, steps): Promise<SendResult> {
    const name = `${scopeKey(scope)}\n${key}`
    for (let other = underway.get(name); other; other = underway.get(name)) await other
    let done: () => void = () => {}
    underway.set(name, new Promise((resolve) => (done = resolve)))
    try {
      const known =
        (await store.findByKey(scope, key)) ??
        (await continuedWith(store, { ...steps, scope, key }))
      if (known !== undefined) return await steps.repeat(known)
      const sent = await steps.first()
      await sent.task()
      return sent
    } finally {
      underway.delete(name)
      done()
    }
  }
}

/** The continued task, if its log holds a message with this key. */
async function continuedWith(
  store: Store,
  sent: { readonly taskId?: string | undefined; readonly scope: Scope; readonly key: string },
): Promise<string | undefined> {
  const { taskId, scope, key } = sent
  if (!taskId || !(await store.get(taskId, scope))) return undefined
  const records = await store.records(taskId, 0)
  const heard = records.some((r) => r.kind === 'message' && r.request.idempotencyKey === key)
  return heard ? taskId : undefined
}
