import type { Feed, InboxEntry, InboxItem } from '../feed.ts'
import type { DatabaseRow } from './connection.ts'
import { sqlStateOf } from './faults.ts'
import { insist, type Patience } from './insist.ts'
import { isKeepable } from './keepable.ts'
import type { Names } from './names.ts'
import type { Readers } from './readers.ts'

/** What waits for the replicas that run tasks, as entries of a table. */
type Inboxes = Pick<Feed, 'forward' | 'inbox' | 'dismiss'>

/** What inboxes are made of. */
export interface InboxParts extends Patience {
  readonly names: Names
  readonly readers: Readers
}

type Outcome = 'stored' | 'idle' | 'full'

/** The inboxes of a database. */
export function createInboxes(parts: InboxParts): Inboxes {
  const { names, readers } = parts
  const sql = statements(names)

  /** Whether an entry whose answer was lost is stored: in the inbox, or in the record of whoever has taken it. */
  async function isKnown(taskId: string, entry: InboxEntry): Promise<boolean> {
    const mark = `"forwarded":${JSON.stringify(entry.key)}`
    const values = [taskId, entry.key, mark]
    const [row] = await readers.run({ text: sql.known, values })
    return row?.known === true
  }

  async function put(taskId: string, entry: InboxEntry, maxWaiting: number): Promise<Outcome> {
    const values = [taskId, entry.key, JSON.stringify(entry), maxWaiting]
    for (;;) {
      try {
        const [stored] = await readers.run({ name: 'forward', text: sql.forward, values })
        if (stored !== undefined) return 'stored'
      } catch (error) {
        if (sqlStateOf(error) !== uniqueViolation) throw error
        return 'stored' // by this very key, at the same moment
      }
      const [row] = await readers.run({ text: sql.why, values: [taskId, entry.key] })
      if (row?.known === true) return 'stored'
      if (row?.replica === null || row === undefined) return 'idle'
      if (Number(row.mail) >= maxWaiting) return 'full'
      // It changed in between.
    }
  }

  return {
    async forward(taskId, entry, maxWaiting) {
      if (!isKeepable(taskId)) return 'idle'
      return insist(parts, async (attempt) => {
        if (attempt > 1 && (await isKnown(taskId, entry))) return 'stored'
        return put(taskId, entry, maxWaiting)
      })
    },
    async inbox(taskId) {
      if (!isKeepable(taskId)) return []
      const rows = await readers.read({ name: 'inbox', text: sql.inbox, values: [taskId] })
      return rows.map(toItem)
    },
    async dismiss(taskId, numbers) {
      if (numbers.length === 0) return
      await insist(parts, () =>
        readers.run({ name: 'dismiss', text: sql.dismiss, values: [taskId, [...numbers]] }),
      )
    },
  }
}

const uniqueViolation = '23505'

function toItem({ number, entry }: DatabaseRow): InboxItem {
  // Written by `forward` alone.
  return { number: Number(number), entry: JSON.parse(String(entry)) as InboxEntry }
}

interface Statements {
  readonly forward: string
  readonly why: string
  readonly known: string
  readonly inbox: string
  readonly dismiss: string
}

/**
 * How many entries wait stands in the task's row, and with it who runs the task: whoever waits for the row's lock sees the
 * newest of both. So no entry comes to a task that nobody runs any more.
 */
function statements({ schema: s, channel }: Names): Statements {
  const isStored = `EXISTS (SELECT 1 FROM ${s}.inbox WHERE task_id = $1 AND key = $2)`
  return {
    forward: `WITH room AS (UPDATE ${s}.task SET mail = mail + 1
        WHERE id = $1 AND replica IS NOT NULL AND mail < $4::float8 AND NOT ${isStored}
        RETURNING id, replica, agent),
      entry AS (INSERT INTO ${s}.inbox (task_id, key, entry) SELECT id, $2, $3 FROM room)
      SELECT pg_notify('${channel}_' || replica, json_build_object('mail', json_build_array(id, agent))::text)
      FROM room`,
    why: `SELECT replica, mail, ${isStored} AS known FROM ${s}.task WHERE id = $1`,
    known: `SELECT ${isStored} OR EXISTS (SELECT 1 FROM ${s}.log
      WHERE task_id = $1 AND position($3 IN records) > 0) AS known`,
    inbox: `SELECT number, entry FROM ${s}.inbox WHERE task_id = $1 ORDER BY number`,
    dismiss: `WITH gone AS (DELETE FROM ${s}.inbox WHERE task_id = $1 AND number = ANY($2::bigint[]) RETURNING number),
      taken AS (SELECT count(*)::int AS entries FROM gone)
      UPDATE ${s}.task t SET mail = t.mail - entries,
        replica = CASE WHEN t.busy OR t.mail - entries > 0 THEN t.replica END
      FROM taken WHERE t.id = $1 AND entries > 0`,
  }
}
