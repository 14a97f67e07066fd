import { signal } from '@preact/signals'
import type { TaskChange } from '../../src/console/api.ts'
import { backoffMs, wait } from '../../src/shared/async.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { readServerEvents } from './events.ts'
import { askServer, loginAsked } from './server.ts'

/** Told of every change of a task that the caller may see. */
type Watch = (change: TaskChange) => void

/** Whether changes arrive as they happen. */
export const isLive = signal(false)

const watches = new Set<Watch>()
const regained = new Set<() => void>()

/** Tells of changes until the returned function is called; `again` after a break, in which changes may have been missed. */
export function watchChanges(watch: Watch, again: () => void = () => {}): () => void {
  watches.add(watch)
  regained.add(again)
  return () => {
    watches.delete(watch)
    regained.delete(again)
  }
}

/** Follows the server's changes for as long as the page is open. */
export async function followChanges(closing: AbortSignal): Promise<void> {
  for (let failures = 0; !closing.aborted; failures++) {
    try {
      const { body } = await askServer('/console/api/events', { signal: closing })
      if (failures > 0) for (const again of regained) again()
      failures = 0
      isLive.value = true
      if (body)
        for await (const { data } of readServerEvents(body))
          for (const watch of watches) watch(data as TaskChange) // the types of api.ts
    } catch {} // whatever broke it, it is opened again
    isLive.value = false
    await whileLoginIsAsked()
    const ms = backoffMs(failures + 1, { baseMs: 500, maxMs: 10_000, random: Math.random })
    await wait(systemClock, ms, closing).catch(() => {}) // closed: the loop ends
  }
}

/** Waits until the user has signed in: asking on would only be refused again. */
function whileLoginIsAsked(): Promise<void> {
  return new Promise((resolve) => {
    const stop = loginAsked.subscribe((asked) => {
      if (asked) return
      resolve()
      queueMicrotask(() => stop())
    })
  })
}
