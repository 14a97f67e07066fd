import { copyFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { silent } from '../../../src/shared/log.ts'
import { type Connection, openConnection, type Row } from '../../../src/store/sqlite/driver.ts'
import { migrate, migrations } from '../../../src/store/sqlite/schema.ts'
import type { LogRecord, Scope } from '../../../src/store/store.ts'
import { at, scope } from '../../contracts/store/samples.ts'
import { isChange } from '../../fixtures/records.ts'
import { damage } from './damage.ts'
import { drivers } from './drivers.ts'
import { useFolder } from './folder.ts'

/** A file as the first preview wrote it: tasks in every state, long logs, a large answer, webhooks, keys. */
const fixture = fileURLToPath(new URL('../../fixtures/store/schema-1.db', import.meta.url))
const { path, open } = useFolder()

/** What the file's own rows say, read without the store. */
interface OldTask {
  readonly row: Row
  readonly scope: Scope
  readonly records: readonly LogRecord[]
}

const busyOnes = [
  'working',
  'submitted',
  'asks, answer waits',
  'needs credentials, message waits',
] as const

describe.each(drivers)('a file of the first schema, migrated by %s', (driver) => {
  test('keeps every task, record, key, webhook and dead letter', async () => {
    copyFileSync(fixture, path('t.db'))
    const old = await readOld(path('t.db'))
    expect(old.length).toBeGreaterThan(15)
    const store = await open('t.db', { driver })
    for (const { row, scope, records } of old) {
      const id = String(row.id)
      const stored = await store.get(id, scope)
      expect(stored?.task).toEqual(JSON.parse(String(row.snapshot)))
      expect(stored).toMatchObject({ version: row.version, taskVersion: row.snapshot_version })
      const { context_id: contextId, state, timestamp } = row
      expect(stored?.head).toMatchObject({ id, scope, contextId, state, timestamp, build: '' })
      expect(await store.records(id, 0)).toEqual(records)
      if (row.idempotency_key !== null)
        expect(await store.findByKey(scope, String(row.idempotency_key))).toBe(id)
    }
    for (const scope of new Set(old.map((one) => one.scope)))
      expect((await store.list({ scope, limit: 1 })).total).toBe(
        old.filter((one) => one.scope === scope).length,
      )
    expect((await store.pushConfigs('working')).map(({ id, cursor }) => [id, cursor])).toEqual([
      ['behind', 2],
      ['done', 9],
    ])
    expect((await store.claimDeliveries()).map(({ id }) => id)).toEqual(['behind'])
    expect(await store.deadLetters()).toMatchObject([{ id: 'letter', reason: 'HTTP 500', seq: 6 }])
  })

  test('gets what is left to do, and generations, from the logs', async () => {
    copyFileSync(fixture, path('t.db'))
    const old = await readOld(path('t.db'))
    const store = await open('t.db', { driver })
    const busy = (await store.claim()).map(({ id }) => id)
    expect([...busy].sort()).toEqual([...busyOnes].sort())
    for (const { row, records } of old) {
      const events = records.filter(({ kind }) => kind === 'event')
      const { head } = (await store.get(String(row.id))) ?? {}
      expect([row.id, head?.generation]).toEqual([
        row.id,
        1 + events.slice(1).filter(isChange).length,
      ])
      expect(head?.busy).toBe(busyOnes.some((id) => id === row.id))
    }
  })

  test('is read in pages and written like any other', async () => {
    copyFileSync(fixture, path('t.db'))
    const store = await open('t.db', { driver })
    for (const id of ['long in one commit', 'long in three commits']) {
      const seqs: number[] = []
      for (let page = await store.records(id, 0, 50); page.length > 0; ) {
        seqs.push(...page.map(({ seq }) => seq))
        page = await store.records(id, seqs.length, 50)
      }
      expect(seqs).toEqual(Array.from({ length: 404 }, (_, i) => i + 1))
    }
    const { head, task, version } = (await store.get('asks')) ?? fail()
    const records = [{ seq: version + 1, kind: 'cancel', at: head.timestamp }] as const
    const write = { type: 'task', head, expectedVersion: version, records, task } as const
    expect(await store.commit([write])).toEqual([{ version: version + 1 }])
    const page = await store.list({ scope: head.scope, contextId: head.contextId, limit: 9 })
    expect(page).toMatchObject({ total: 1, tasks: [{ head: { id: 'asks' } }] })
  })
})

test('a large file of an older schema is counted and indexed before it opens, and the log says so', async () => {
  const db = await openConnection(path('t.db'))
  db.prepare('PRAGMA journal_mode = WAL').get()
  migrate(db, migrations.slice(0, 3))
  db.exec(`INSERT INTO scope VALUES (1, 'agent', 'tenant', 'owner');
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 49999)
    INSERT INTO task (id, scope, context_id, state, timestamp, version, busy, generation, build, snapshot_version, snapshot)
    SELECT 't' || i, 1, CASE i % 10 WHEN 0 THEN 'long' ELSE 'c' || i END, 'TASK_STATE_COMPLETED',
      strftime('%Y-%m-%dT%H:%M:%fZ', ${Date.parse(at(0)) / 1_000} + i, 'unixepoch'), 1, 0, 1, '', 1,
      '{"status":{},"id":"' || hex(zeroblob(400)) || '"}' FROM n;
    INSERT INTO total SELECT scope, state, count(*) FROM task GROUP BY scope, state`)
  db.close()
  const said: string[] = []
  const info = (_: object, message: string) => void said.push(message)
  const store = await open('t.db', { logger: { ...silent, info } })
  expect(said).toEqual([
    'Migrates the task store to a newer schema before it is used',
    'The task store is migrated',
  ])
  const list = { scope, contextId: 'long', limit: 1 }
  expect(await store.list(list)).toMatchObject({
    total: 5_000,
    tasks: [{ head: { id: 't49990' } }],
  })
  expect((await store.list({ ...list, timestampAfter: at(9_000) })).total).toBe(4_100)
  expect((await store.list({ scope, limit: 1, timestampAfter: at(9_001) })).total).toBe(40_999)
  const counted = await openConnection(path('t.db'))
  const spans = counted.prepare(`SELECT list, count(*) AS spans, sum(tasks) AS tasks FROM span
    WHERE since <> '' GROUP BY list ORDER BY list`)
  expect(spans.all()).toEqual([
    { list: '', spans: 50, tasks: 50_000 },
    { list: ':long', spans: 5, tasks: 5_000 },
    { list: '^', spans: 4, tasks: 50_000 },
  ])
  const whole = counted.prepare(`SELECT list, tasks FROM span WHERE since = ''`)
  expect(whole.all()).toEqual([{ list: ':long', tasks: 5_000 }])
  counted.close()
})

test('a file that is damaged is not migrated', async () => {
  copyFileSync(fixture, path('t.db'))
  const db = await openConnection(path('t.db'))
  const page = Number(
    db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'log'").get()?.rootpage,
  )
  db.close()
  damage(path('t.db'), page)
  await expect(open('t.db')).rejects.toThrow(/damaged/)
  const again = await openConnection(path('t.db'))
  expect(again.prepare('PRAGMA user_version').get()).toMatchObject({ user_version: 1 })
  again.close()
})

async function readOld(file: string): Promise<readonly OldTask[]> {
  const db = await openConnection(file)
  try {
    const scopes = new Map(
      db
        .prepare('SELECT * FROM scope')
        .all()
        .map((row) => [row.id, toScope(row)]),
    )
    return db
      .prepare('SELECT * FROM task')
      .all()
      .map((row) => ({
        row,
        scope: scopes.get(row.scope) ?? fail(),
        records: recordsOf(db, row),
      }))
  } finally {
    db.close()
  }
}

function toScope({ agent, tenant, owner }: Row): Scope {
  return { agent: String(agent), tenant: String(tenant), owner: String(owner) }
}

function recordsOf(db: Connection, { number, log }: Row): readonly LogRecord[] {
  const rows = db
    .prepare('SELECT records FROM log WHERE task = ? ORDER BY last_seq')
    .all(Number(number))
  const texts = [log ?? '[]', ...rows.map(({ records }) => records)]
  return texts.flatMap((text) => JSON.parse(String(text)) as LogRecord[])
}

function fail(): never {
  throw new Error('The fixture lacks something')
}
