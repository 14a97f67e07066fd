import type { A2AError } from '../protocol/errors.ts'
import type { Clock } from '../shared/clock.ts'
import type { Store } from '../store/store.ts'
import type { Taken } from './recover.ts'

/**
 * Tasks whose commit the store refused. Their runs are gone, and what is stored of them says that they run: once the
 * store can be written again they are taken up from there, by themselves.
 */
export interface Stranded {
  /** A task's commit was refused; `fault` is why where the task itself is at fault, so that it must fail. */
  add(id: string, fault: A2AError | undefined): void
  /** What is to be known of a task that is taken up: one that was not stranded was left by a process that died. */
  leave(id: string): { readonly died: boolean; readonly refusal: A2AError | undefined }
  close(): void
}

/** What looking after stranded tasks needs. */
interface StrandedOptions {
  readonly store: Pick<Store, 'health'>
  readonly clock: Clock
  takeUp(id: string): Promise<Taken>
}

const firstLookMs = 250
const lookEveryMs = 2_000
/** A task that is refused again and again is looked at less and less often. */
const maxLookMs = 60_000

/** Looks after stranded tasks. */
export function createStranded({ store, clock, takeUp }: StrandedOptions): Stranded {
  const tasks = new Map<string, A2AError | undefined>()
  let waitMs = firstLookMs
  let lastLook = Number.NEGATIVE_INFINITY
  let callOff: (() => void) | undefined
  let closed = false

  function lookAfter(ms: number): void {
    if (!closed) callOff ??= clock.after(ms, look)
  }

  async function look(): Promise<void> {
    callOff = undefined
    lastLook = clock.elapsed()
    for (const id of [...tasks.keys()]) {
      if (closed || !store.health().writable) break
      await takeUpOne(id)
    }
    if (tasks.size > 0) lookAfter(lookEveryMs)
  }

  /** One of which nothing is left to do, or nothing was ever stored, is no longer stranded. */
  async function takeUpOne(id: string): Promise<void> {
    try {
      if ((await takeUp(id)) === 'nothing') tasks.delete(id)
    } catch {
      // The store cannot be read either; the next look tries again.
    }
  }

  return {
    add(id, fault) {
      tasks.set(id, fault)
      if (callOff) return
      const isAgain = clock.elapsed() - lastLook < maxLookMs
      waitMs = isAgain ? Math.min(maxLookMs, waitMs * 2) : firstLookMs
      lookAfter(waitMs)
    },
    leave(id) {
      const died = !tasks.has(id)
      const refusal = tasks.get(id)
      tasks.delete(id)
      return { died, refusal }
    },
    close() {
      closed = true
      callOff?.()
    },
  }
}
