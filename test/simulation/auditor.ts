import type { Turn } from '../../src/agents/agent.ts'
import { isTerminal } from '../../src/protocol/task.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'
import type { LogRecord } from '../../src/store/store.ts'
import { type Change, type Database, isLiving } from './database.ts'
import type { Hooks } from './hooks.ts'
import { isNote, type Ledger } from './ledger.ts'
import type { Replica } from './replica.ts'
import type { World } from './world.ts'

/** Looks at every change while it happens, and says what may not be. */
export interface Auditor {
  /** When each public event was stored, by task and sequence number. */
  readonly storedAt: ReadonlyMap<string, ReadonlyMap<number, number>>
  /** How often each entry of an inbox was stored, taken and dismissed, by its key. */
  readonly mail: ReadonlyMap<string, MailCounts>
  /** Tasks whose state somebody has set who had read it too early; what becomes of them is theirs. */
  readonly meddled: ReadonlySet<string>
  /** A step is about to begin. */
  stepBegins(replica: Replica, turn: Turn, name: string): void
  /** Something has happened. */
  look(): void
}

/** What became of an entry. */
export interface MailCounts {
  readonly taskId: string
  stored: number
  taken: number
  dismissed: number
}

/** Makes the auditor of a world and lets the database tell it what is stored. */
export function createAuditor(
  world: World,
  database: Database,
  { ledger, hooks }: { readonly ledger: Ledger; readonly hooks: Hooks },
): Auditor {
  const storedAt = new Map<string, Map<number, number>>()
  const mail = new Map<string, MailCounts>()
  const steps = new Set<string>()
  /** Which message each turn is of: two replicas may begin a turn of the same number, and only one of them is stored. */
  const messages = new Map<string, string>()
  const states = new Map<string, string>()
  const meddled = new Set<string>()

  function noteRecords({ head, records }: Change): void {
    const times = storedAt.get(head.id) ?? new Map<number, number>()
    storedAt.set(head.id, times)
    states.set(head.id, head.state)
    for (const [index, record] of records.entries()) {
      if (record.kind === 'event') {
        const isFirst = times.size === 0
        if (!isFirst && isMeddling(record.event, records[index - 1])) meddled.add(head.id)
        times.set(record.seq, world.now())
      }
      if (record.kind === 'message')
        messages.set(turnName(head.id, record.turn), record.message.messageId)
      if (record.kind !== 'step') continue
      const messageId = messages.get(turnName(head.id, record.turn)) ?? ''
      const step = stepName(head.id, messageId, record.name)
      if (steps.has(step)) ledger.violate(`the result of ${step} is stored twice`)
      steps.add(step)
    }
  }

  database.observer = {
    stored(change) {
      const { head, before, by, process, records } = change
      world.trace?.(`    ${by} stored ${toText(change)}`)
      const isClaim = records[0]?.kind === 'claim'
      // A process that registers anew may go on with what it has.
      if (before?.replica && before.process !== process && !isClaim)
        ledger.violate(`replica ${by} wrote task ${head.id} while ${before.replica} had it`)
      noteRecords(change)
    },
    mailed(taskId, key, what) {
      const counts = mail.get(key) ?? { taskId, stored: 0, taken: 0, dismissed: 0 }
      mail.set(key, counts)
      counts[what]++
      world.trace?.(`    entry ${key} of ${taskId} ${what}`)
      const state = states.get(taskId)
      if (what === 'dismissed' && !(isTerminal as (state?: string) => boolean)(state))
        ledger.violate(`an entry of task ${taskId} was dismissed while the task was ${state}`)
    },
    hooked(write) {
      if (write.type === 'pushConfig') hooks.stored(write.record)
      else hooks.removed(write.taskId, write.id)
    },
    claimed({ id, agent, build: own }, build, by) {
      const slowMs = database.slow?.ms ?? 0
      // One that has just come may not have been there when it was looked for.
      for (const { number, serving, since } of database.registrations.values())
        if (own !== build && isLiving(database, number) && world.now() - since > 300 + slowMs)
          if (serving.some((one) => one.agent === agent && one.build === own))
            ledger.violate(`${by} of build ${build} took task ${id} while ${number} had its own`)
    },
  }

  return {
    storedAt,
    mail,
    meddled,
    stepBegins(replica, turn, name) {
      const step = stepName(turn.taskId, turn.message.messageId, name)
      const me = replica.store.feed.replica
      const registration = database.registrations.get(me)
      if (!registration || registration.aliveUntil <= world.now())
        ledger.violate(`${step} began in ${replica.process.name} after its lease was over`)
      else if (steps.has(step) && isLiving(database, me))
        ledger.violate(`${step} began again in ${replica.process.name}, though it was completed`)
    },
    look() {
      for (const { id, replica, busy, mail: waiting } of database.rows.values()) {
        if ((replica === undefined) !== (!busy && waiting === 0))
          ledger.violate(`task ${id} has replica ${replica}, busy ${busy} and mail ${waiting}`)
        if (waiting !== (database.inbox.get(id)?.length ?? 0))
          ledger.violate(`task ${id} counts its inbox wrongly`)
      }
    },
  }
}

/** Whether an event in the midst of a task may be a user's, who has brought a state with it. */
function isMeddling(event: StreamResponse, before: LogRecord | undefined): boolean {
  if ('task' in event) return true
  if (!('statusUpdate' in event) || before?.kind !== 'event') return false
  return 'artifactUpdate' in before.event && isNote(before.event.artifactUpdate.artifact.artifactId)
}

function stepName(taskId: string, messageId: string, name: string): string {
  return `${name} of ${messageId} of task ${taskId}`
}

function turnName(taskId: string, turn: number): string {
  return `${turn} ${taskId}`
}

function toText({ head, records, version, row }: Change): string {
  const kinds = records.map((record) =>
    record.kind === 'message' ? record.message.messageId : record.kind,
  )
  return `${head.id} to ${version}: ${kinds.join(', ')}; ${head.state}, replica ${row.replica}`
}
