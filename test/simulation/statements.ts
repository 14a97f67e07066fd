import { toText } from '../../src/store/documents.ts'
import type { InboxEntry } from '../../src/store/feed.ts'
import type { DatabaseRow, SqlStatement } from '../../src/store/postgres/connection.ts'
import type { TaskHead } from '../../src/store/store.ts'
import type { Work } from './backend.ts'
import type { Database, Note } from './database.ts'
import { claimTasks, leftToTake, orphansOf, servedBuilds } from './database-claim.ts'
import { claimDeliveries, wakeDeliveries } from './database-deliveries.ts'
import { dismissEntries, forwardEntry, inboxOf, isForwarded } from './database-inbox.ts'
import * as replicas from './database-replicas.ts'

/** A statement that says itself what it does; the real store's are recognised by their names and words. */
export interface SimulatedStatement extends SqlStatement {
  readonly work: Work
}

/** The connection that a statement came by. */
export interface Client {
  /** Brings a notice of this database to the client. */
  tell(note: Note): void
  /** Called when the database knows that the client is gone. */
  onGone(callback: () => void): void
}

/** What a statement of the real store is to this database. */
interface Meaning {
  /** Tasks whose rows it locks. */
  locks?(database: Database, values: Values): readonly string[]
  /** How many rows it goes through. */
  rows?(database: Database, values: Values): number
  run(database: Database, values: Values, asking: Asking): Promise<readonly DatabaseRow[]>
}

interface Asking {
  readonly client: Client
  /** Who has the locks. */
  readonly backend: object
}

/** The parameters of a statement. The store that sends them is ours. */
class Values {
  readonly #values: readonly unknown[]

  constructor(values: readonly unknown[] = []) {
    this.#values = values
  }

  number(place: number): number {
    return Number(this.#values[place])
  }

  text(place: number): string {
    return String(this.#values[place])
  }

  isNull(place: number): boolean {
    return this.#values[place] === null || this.#values[place] === undefined
  }

  list(place: number): readonly string[] {
    const value = this.#values[place]
    return Array.isArray(value) ? value.map(String) : []
  }
}

/** Recognises a statement of the real store. @throws Error for one that this database does not know. */
export function toWork(database: Database, statement: SqlStatement, client: Client): Work {
  if ('work' in statement) return (statement as SimulatedStatement).work
  const what = statement.name ?? unnamed.find(([, words]) => words.test(statement.text))?.[0]
  const meaning = what === undefined ? undefined : meanings[what]
  if (what === undefined || !meaning)
    throw new Error(`The simulated database does not know ${statement.text}`)
  const values = new Values(statement.values)
  return {
    what,
    ...(meaning.rows && { rows: meaning.rows(database, values) }),
    ...(statement.text.includes('lock_timeout') && { lockTimeoutMs }),
    locks: () => meaning.locks?.(database, values) ?? [],
    run: (backend) => meaning.run(database, values, { client, backend }),
  }
}

/** How long commits and forwards wait for a row that another client has locked: the real store's own bound. */
export const lockTimeoutMs = 250

/** Statements without a name, by words that no other has. */
const unnamed: readonly (readonly [what: string, words: RegExp])[] = [
  ['register', /INSERT INTO \S+\.replica /],
  ['listen', /^LISTEN /],
  ['terminate', /pg_terminate_backend/],
  ['serve', /SET agents = /],
  ['leave', /gone AS \(DELETE FROM \S+\.replica /],
  ['release', /WHERE replica = \$1 AND agent = \$2 /],
  ['forgotten', /^DELETE FROM \S+\.replica r /],
  ['why', /^SELECT replica, mail, /],
  ['known', /position\(\$3 IN records\)/],
  ['members', /AS lease_ms/],
  ['rest', /AS standby$/],
  ['deliveries', /FROM \S+\.push p\s+CROSS JOIN LATERAL/],
]

const meanings: Readonly<Record<string, Meaning>> = {
  register: {
    async run(database, values, { client }) {
      const agents = values.list(1).map((agent, i) => ({ agent, build: values.list(2)[i] ?? '' }))
      const made = replicas.register(database, {
        name: values.text(0),
        serving: agents,
        leaseMs: values.number(3),
        former: values.number(4),
        tell: (note) => client.tell(note),
      })
      client.onGone(() => {
        made.locked = false
      })
      return [{ number: made.number, locked: true, ...timeOf(database) }]
    },
  },
  listen: { run: async () => [] },
  terminate: {
    async run(database, values) {
      if (!database.bugs.has('transaction-without-deadline'))
        database.backends.get(values.number(0))?.(values.number(1))
      return []
    },
  },
  beat: {
    run: async (database, values) =>
      replicas.beat(database, values.number(0), values.number(1)) ? [timeOf(database)] : [],
  },
  serve: {
    async run(database, values) {
      const known = database.registrations.get(values.number(0))
      if (known)
        known.serving = values
          .list(1)
          .map((agent, i) => ({ agent, build: values.list(2)[i] ?? '' }))
      return []
    },
  },
  look_live: {
    rows: ({ rows }) => rows.size,
    run: async (database) => [await replicas.lookForDead(database)],
  },
  release: {
    locks: (database, values) => held(database, values.number(0), values.text(1)),
    async run(database, values) {
      replicas.release(database, values.number(0), values.text(1))
      return []
    },
  },
  leave: {
    locks: (database, values) => held(database, values.number(0)),
    async run(database, values) {
      replicas.leave(database, values.number(0))
      return []
    },
  },
  forgotten: {
    async run(database) {
      replicas.forgetDead(database)
      return []
    },
  },
  held: {
    run: async (database, values) =>
      replicas
        .heldBy(database, values.number(0), values.text(1))
        .map(({ id, mail }) => ({ id, mail })),
  },
  forward: {
    locks: (_, values) => [values.text(0)],
    async run(database, values) {
      const entry = JSON.parse(values.text(2)) as InboxEntry // written by the real store
      const forwarding = { taskId: values.text(0), entry, maxWaiting: values.number(3) }
      return forwardEntry(database, forwarding) ? [{}] : []
    },
  },
  why: {
    async run(database, values) {
      const row = database.rows.get(values.text(0))
      if (!row) return []
      const known = inboxOf(database, row.id).some(({ entry }) => entry.key === values.text(1))
      return [{ replica: row.replica ?? null, mail: row.mail, known }]
    },
  },
  known: {
    run: async (database, values) => [
      { known: await isForwarded(database, values.text(0), values.text(1)) },
    ],
  },
  inbox: {
    run: async (database, values) =>
      inboxOf(database, values.text(0)).map(({ number, entry }) => ({
        number,
        entry: JSON.stringify(entry),
      })),
  },
  dismiss: {
    locks: (_, values) => [values.text(0)],
    async run(database, values) {
      dismissEntries(database, values.text(0), values.list(1).map(Number))
      return []
    },
  },
  watch: {
    locks: (_, values) => values.list(0),
    async run(database, values) {
      replicas.setWatching(database, values.number(1), values.list(0), true)
      return replicas.versionsOf(database, values.list(0), values.number(1))
    },
  },
  unwatch: {
    locks: (_, values) => values.list(0),
    async run(database, values) {
      replicas.setWatching(database, values.number(1), values.list(0), false)
      return []
    },
  },
  poll: {
    run: (database, values) => replicas.versionsOf(database, values.list(0), values.number(1)),
  },
  wake: {
    async run(database, values) {
      for (const id of values.list(0)) await wakeDeliveries(database, values.number(1), id)
      return []
    },
  },
  members: { run: async (database) => replicas.membersOf(database) },
  rest: {
    run: async (database) => [
      {
        orphans: [...orphansOf(database)].length,
        inbox: [...database.inbox.values()].reduce((sum, items) => sum + items.length, 0),
        standby: false,
      },
    ],
  },
  locked: {
    run: async ({ locks }, values, { backend }) =>
      values
        .list(0)
        .filter((id) => locks.isTaken(id, backend))
        .map((id) => ({ id })),
  },
  orphaned: {
    rows: ({ rows }) => rows.size,
    run: async (database) => servedBuilds(database),
  },
  claim: {
    rows: ({ rows }) => rows.size,
    async run(database, values, { backend }) {
      const me = values.number(0)
      const process = database.registrations.get(me)?.name ?? ''
      const wanted = toWanted(values)
      return (await claimTasks(database, { me, process, backend, ...wanted })).map(toHeadRow)
    },
  },
  look: {
    run: async (database, values) => (await leftToTake(database, toWanted(values))).map(toHeadRow),
  },
  deliveries: {
    async run(database, values) {
      const taskId = values.isNull(1) ? undefined : values.text(1)
      const configs = await claimDeliveries(database, values.number(0), taskId)
      return configs.map((config) => ({ cursor: config.cursor, record: toText(config) }))
    },
  },
}

/** What a claim asks for. */
export interface Wanted {
  readonly agent: string | undefined
  /** Any where absent. */
  readonly builds: readonly string[] | undefined
  readonly limit: number | undefined
  readonly after: { readonly timestamp: string; readonly id: string }
}

function toWanted(values: Values): Wanted {
  return {
    agent: values.isNull(1) ? undefined : values.text(1),
    builds: values.isNull(2) ? undefined : values.list(2),
    limit: values.isNull(3) ? undefined : values.number(3),
    after: { timestamp: values.text(4), id: values.text(5) },
  }
}

function toHeadRow({ scope, ...head }: TaskHead): DatabaseRow {
  return { ...head, ...scope }
}

function timeOf(database: Database): DatabaseRow {
  return { now: replicas.timeOf(database), backend: 1 }
}

function held(database: Database, number: number, agent?: string): readonly string[] {
  return replicas.heldBy(database, number, agent).map(({ id }) => id)
}
