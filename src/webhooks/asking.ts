import type { DeliveryContext } from './delivery-queue.ts'
import type { DeliveryQueues } from './queues.ts'
import { persist } from './retry.ts'

/** Asks the store which webhooks a task has, and remembers the tasks that have none. */
interface Asking {
  /** Asks, unless the task is known to have none; `isOurs` where its log has grown here, so that others must be told. */
  look(taskId: string, isOurs: boolean): void
  /** A task has no webhooks. */
  ignore(taskId: string): void
  /** A task may have got some. */
  changed(taskId: string): void
}

/** What the store is asked of a task's webhooks. */
interface Question {
  /** Whether there is more to ask since. */
  again: boolean
  isOurs: boolean
}

/** How many tasks without webhooks are remembered; a forgotten one costs a read. */
const maxIgnored = 10_000

/** Makes what asks, and wakes the queues of what it finds. */
export function createAsking(context: DeliveryContext, queues: DeliveryQueues): Asking {
  const { store } = context
  const asking = new Map<string, Question>()
  const ignored = new Set<string>()
  let changes = 0

  /** Wakes the queues of a task's webhooks; those that another replica delivers are its to wake. */
  async function ask(taskId: string, { isOurs }: Question): Promise<void> {
    const before = changes
    const configs = await store.pushConfigs(taskId)
    const isShared = store.feed && configs.length > 0
    if (!isShared) for (const { id } of configs) queues.wake({ taskId, id })
    else if ((await queues.claim(taskId)) < configs.length && isOurs)
      store.feed?.wakeDeliveries(taskId)
    // A webhook that is stored while we read must not be ignored for good.
    if (configs.length === 0 && changes === before) ignore(taskId)
  }

  /** What is told while we ask is asked once more, not once each. */
  async function askAll(taskId: string, question: Question, stop: AbortSignal): Promise<void> {
    do {
      question.again = false
      await persist(context, stop, () => ask(taskId, question))
    } while (question.again && !stop.aborted)
    asking.delete(taskId)
  }

  function ignore(taskId: string): void {
    ignored.add(taskId)
    if (ignored.size <= maxIgnored) return
    const [oldest = ''] = ignored
    ignored.delete(oldest)
  }

  return {
    look(taskId, isOurs) {
      if (ignored.has(taskId)) return
      const known = asking.get(taskId)
      if (known) {
        known.again = true
        known.isOurs ||= isOurs
        return
      }
      const question = { again: false, isOurs }
      asking.set(taskId, question)
      void queues.run(({ stop }) => askAll(taskId, question, stop))
    },
    ignore,
    changed(taskId) {
      changes++
      ignored.delete(taskId)
    },
  }
}
