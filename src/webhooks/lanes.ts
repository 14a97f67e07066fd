import { drain, type LaneContext, type LaneSignals } from './lane.ts'
import type { LaneKey } from './pending.ts'
import { persist } from './persist.ts'

/** The work under way: one lane per webhook that is behind, and single attempts beside them. */
export interface Lanes {
  /** Has a webhook's lane look at the log, now or once more when it is through. */
  wake(key: LaneKey): void
  /** Breaks a webhook's lane off. */
  end(key: LaneKey): void
  /** Does something that `close` can end. */
  run<T>(work: (signals: LaneSignals) => Promise<T>): Promise<T>
  /** Begins nothing more, and breaks off what does not end within the grace. */
  close(graceMs: number): Promise<void>
}

interface Switch {
  readonly stop: AbortController
  readonly kill: AbortController
}

interface Lane {
  /** The log may have grown since the lane looked. */
  again: boolean
  off: Switch | undefined
}

/** Makes the set of lanes, all of them idle. */
export function createLanes(context: LaneContext): Lanes {
  const { clock } = context
  const lanes = new Map<string, Lane>()
  const running = new Map<Switch, Promise<unknown>>()
  let closed = false

  function begin<T>(work: (signals: LaneSignals) => Promise<T>): [Switch, Promise<T>] {
    const off = { stop: new AbortController(), kill: new AbortController() }
    if (closed) off.stop.abort()
    const promise = work({ stop: off.stop.signal, kill: off.kill.signal })
    const ended = promise.finally(() => running.delete(off))
    running.set(off, ended)
    return [off, ended]
  }

  async function serve(key: LaneKey, lane: Lane, signals: LaneSignals): Promise<void> {
    do {
      lane.again = false
      await persist(context, signals.stop, () => drain(context, key, signals))
    } while (lane.again && !signals.stop.aborted)
    if (lanes.get(nameOf(key)) === lane) lanes.delete(nameOf(key))
  }

  return {
    wake(key) {
      const lane = lanes.get(nameOf(key))
      if (lane) lane.again = true
      if (lane || closed) return
      const fresh: Lane = { again: false, off: undefined }
      lanes.set(nameOf(key), fresh)
      const [off, ended] = begin((signals) => serve(key, fresh, signals))
      fresh.off = off
      ended.catch((error) => context.log.error({ error }, 'webhook lane ended'))
    },
    end(key) {
      const lane = lanes.get(nameOf(key))
      lanes.delete(nameOf(key))
      lane?.off?.stop.abort()
      lane?.off?.kill.abort()
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

function nameOf({ taskId, id }: LaneKey): string {
  return JSON.stringify([taskId, id])
}
