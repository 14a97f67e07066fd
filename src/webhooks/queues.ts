import { type DeliveryContext, type DeliverySignals, finishDeliveries } from './delivery-queue.ts'
import type { WebhookKey } from './pending.ts'
import { persist } from './retry.ts'

/** The work under way: one delivery queue per webhook that is behind, and single attempts beside them. */
export interface DeliveryQueues {
  /** Has a webhook's queue look at the log, now or once more when it is through. */
  wake(key: WebhookKey): void
  /** Claims what no living process delivers, of one task or of all, and wakes its queues; how many webhooks that were. */
  claim(taskId?: string): Promise<number>
  /** Breaks a webhook's queue off. */
  end(key: WebhookKey): void
  /** Does something that `close` can end. */
  run<T>(work: (signals: DeliverySignals) => Promise<T>): Promise<T>
  /** Begins nothing more, and breaks off what does not end within the grace. */
  close(graceMs: number): Promise<void>
}

interface Switch {
  readonly stop: AbortController
  readonly kill: AbortController
}

interface Queue {
  /** The log may have grown since the queue looked. */
  again: boolean
  off: Switch | undefined
}

/**
 * Makes the set of queues, all of them idle. Where replicas share the store, a webhook whose queue was through while
 * it was woken or claimed is not sure to be this one's any more: `ask` finds out, and wakes it.
 */
export function createDeliveryQueues(
  context: DeliveryContext,
  ask: (taskId: string) => void,
): DeliveryQueues {
  const { clock, store } = context
  const queues = new Map<string, Queue>()
  const running = new Map<Switch, Promise<unknown>>()
  /** For each claim under way, the queues that have ended since it was made. */
  const claims = new Set<Set<string>>()
  let closed = false

  function begin<T>(work: (signals: DeliverySignals) => Promise<T>): [Switch, Promise<T>] {
    const off = { stop: new AbortController(), kill: new AbortController() }
    if (closed) off.stop.abort()
    const promise = work({ stop: off.stop.signal, kill: off.kill.signal })
    const ended = promise.finally(() => running.delete(off))
    running.set(off, ended)
    return [off, ended]
  }

  async function serve(key: WebhookKey, queue: Queue, signals: DeliverySignals): Promise<void> {
    do {
      queue.again = false
      await persist(context, signals.stop, () => finishDeliveries(context, key, signals))
    } while (queue.again && !store.feed && !signals.stop.aborted)
    if (queues.get(nameOf(key)) === queue) queues.delete(nameOf(key))
    for (const ended of claims) ended.add(nameOf(key))
    if (queue.again && !signals.stop.aborted) ask(key.taskId)
  }

  function wake(key: WebhookKey): void {
    const queue = queues.get(nameOf(key))
    if (queue) queue.again = true
    if (queue || closed) return
    const fresh: Queue = { again: false, off: undefined }
    queues.set(nameOf(key), fresh)
    const [off, ended] = begin((signals) => serve(key, fresh, signals))
    fresh.off = off
    ended.catch((error) => context.log.error({ error }, 'webhook delivery queue ended'))
  }

  return {
    wake,
    async claim(wanted) {
      const ended = new Set<string>()
      claims.add(ended)
      const mine = await store.claimDeliveries(wanted).finally(() => claims.delete(ended))
      for (const { taskId, id } of mine)
        if (ended.has(nameOf({ taskId, id }))) ask(taskId)
        else wake({ taskId, id })
      return mine.length
    },
    end(key) {
      const queue = queues.get(nameOf(key))
      queues.delete(nameOf(key))
      queue?.off?.stop.abort()
      queue?.off?.kill.abort()
    },
    run: (work) => begin(work)[1],
    async close(graceMs) {
      closed = true
      for (const { stop } of running.keys()) stop.abort()
      const cancel = clock.after(graceMs, () => {
        for (const { kill } of running.keys()) kill.abort()
      })
      await Promise.allSettled(running.values())
      cancel()
    },
  }
}

function nameOf({ taskId, id }: WebhookKey): string {
  return JSON.stringify([taskId, id])
}
