import type { ReceivedDelivery } from '../../src/server/options.ts'
import type { PushConfigRecord } from '../../src/store/store.ts'
import type { Disturbances } from './audit-streams.ts'
import type { Ledger } from './ledger.ts'
import type { VirtualProcess, World } from './world.ts'

/** The receivers of all webhooks: they stand outside, and remember who told them what. */
export interface Hooks {
  /** A webhook was stored. */
  stored(record: PushConfigRecord): void
  /** A webhook was deleted. */
  removed(taskId: string, id: string): void
  /** Takes in a delivery of a process, or does not; the HTTP status. */
  receive(process: VirtualProcess, delivery: ReceivedDelivery): number
  /** Whether a webhook has not yet heard of all that it is to hear of. */
  isBehind(storedAt: StoredAt): boolean
  /** Says where webhooks were not told everything, in order, and no more often than they must be. */
  audit(storedAt: StoredAt, disturbances: Disturbances): void
  /** How many deliveries were taken in. */
  readonly delivered: number
}

/** When each event was stored, by task and sequence number. */
type StoredAt = ReadonlyMap<string, ReadonlyMap<number, number>>

/** A webhook as its receiver knows it. */
interface Hook {
  readonly taskId: string
  /** The last event that it need not hear of. */
  readonly since: number
  removedAt: number | undefined
  readonly heard: Heard[]
}

/** A delivery that was taken in. */
interface Heard {
  readonly seq: number
  readonly at: number
  readonly process: string
}

/** A deletion is known to whoever delivers before its next attempt. */
const removalMs = 1_000

/** The address of a webhook. */
export function hookUrl(id: string): string {
  return `https://hooks.example/${encodeURIComponent(id)}`
}

/** Makes receivers that are now and then out of order, until so much time has passed. */
export function createHooks(world: World, ledger: Ledger, soundFromMs: number): Hooks {
  const hooks = new Map<string, Hook>()
  let delivered = 0

  function expected({ taskId, since }: Hook, storedAt: StoredAt): readonly number[] {
    const seqs = [...(storedAt.get(taskId)?.keys() ?? [])]
    return seqs.filter((seq) => seq > since).sort((a, b) => a - b)
  }

  return {
    get delivered() {
      return delivered
    },
    stored({ id, taskId, cursor }) {
      // One whose answer was lost is stored once more; it has heard what it has heard.
      if (!hooks.has(id)) hooks.set(id, { taskId, since: cursor, removedAt: undefined, heard: [] })
    },
    removed(_taskId, id) {
      const hook = hooks.get(id)
      if (hook) hook.removedAt ??= world.now()
    },
    receive({ name, alive }, { url, headers }) {
      const hook = hooks.get(decodeURIComponent(url.slice(hookUrl('').length)))
      const seq = Number(headers['x-a2a-event-id']?.split(':').at(-1))
      if (!hook || !alive) return 503
      if (world.now() < soundFromMs && world.random.chance(0.2)) return 503
      hook.heard.push({ seq, at: world.now(), process: name })
      delivered++
      world.trace?.(`    ${name} delivered ${seq} of ${hook.taskId} to ${url}`)
      return 204
    },
    isBehind(storedAt) {
      for (const hook of hooks.values()) {
        if (hook.removedAt !== undefined) continue
        const last = expected(hook, storedAt).at(-1)
        if (last !== undefined && !hook.heard.some(({ seq }) => seq === last)) return true
      }
      return false
    },
    audit(storedAt, disturbances) {
      for (const [id, hook] of hooks) {
        const { heard, removedAt, taskId } = hook
        const name = `${id} of task ${taskId}`
        const first = [...new Set(heard.map(({ seq }) => seq))]
        const events = expected(hook, storedAt)
        if (first.some((seq, index) => seq !== events[index]))
          ledger.violate(`${name} was told ${first.join(',')} of ${events.join(',')}`)
        if (removedAt === undefined && first.length < events.length)
          ledger.violate(`${name} was never told of ${events.slice(first.length).join(',')}`)
        for (const late of heard)
          if (removedAt !== undefined && late.at > removedAt + removalMs)
            if (!disturbances.between(late.process, removedAt, late.at))
              ledger.violate(`${name} was told of ${late.seq} though it was deleted`)
        auditRepetitions(name, heard, disturbances)
      }
    },
  }

  /** An event comes again only where who told it could not note that it had. */
  function auditRepetitions(
    name: string,
    heard: readonly Heard[],
    disturbances: Disturbances,
  ): void {
    for (const [index, again] of heard.entries()) {
      const before = heard.slice(0, index).findLast(({ seq }) => seq === again.seq)
      if (!before) continue
      const isExcused = [before.process, again.process].some((process) =>
        disturbances.between(process, before.at, again.at),
      )
      if (!isExcused) ledger.violate(`${name} was told of ${again.seq} twice for no reason`)
    }
  }
}
