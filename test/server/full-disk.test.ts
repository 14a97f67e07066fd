import { chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createServer, type Server } from '../../src/server/server.ts'
import { silent } from '../../src/shared/log.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { wiresOf } from '../contracts/binding.ts'
import { write } from '../contracts/store/samples.ts'
import { drivers } from '../store/sqlite/drivers.ts'
import { patient } from '../support/patient.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'
import { describeMounts, mountReadOnly, mountSmall, type SmallDisk } from '../support/small-disk.ts'

/** Where root runs the tests, PostgreSQL runs as this user. */
const nobody = 65_534

const mib = 1024 * 1024

function openDisk(bytes: number): SmallDisk {
  const disk = mountSmall(bytes)
  onTestFinished(() => disk.remove())
  return disk
}

async function serveOn(store: Store): Promise<{ server: Server; warnings: string[] }> {
  const warnings: string[] = []
  const logger = { ...silent, warn: (_: object, message: string) => void warnings.push(message) }
  const server = await createServer({
    agents: [createScriptedAgent()],
    store,
    logger,
    limits: patient,
    timeouts: { shutdownMs: 0 },
  })
  onTestFinished(async () => {
    await server.close()
    await store.close()
  })
  return { server, warnings }
}

function send(server: Server) {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x'.repeat(20_000) }] }
  return server.handle({
    method: 'POST',
    path: '/message:send',
    query: '',
    headers: { 'a2a-version': '1.0', 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  })
}

/** What every store owes its callers on a full disk. */
async function mustSayFull(store: Store, disk: SmallDisk): Promise<void> {
  const { server, warnings } = await serveOn(store)
  expect((await send(server)).status).toBe(200)
  for (let episodes = 1; episodes <= 2; episodes++) {
    disk.fill()
    await expect.poll(async () => (await send(server)).status).toBe(503)
    for (let i = 0; i < 3; i++) {
      const { status, headers, body } = await send(server)
      expect([status, headers['retry-after']]).toEqual([503, '1'])
      expect(String(body)).toContain('is full')
    }
    const ask = { method: 'GET', path: '/health', query: '', headers: {}, body: '' }
    expect((await server.handle(ask)).status).toBe(503)
    expect(warnings.filter((line) => line === 'New tasks are rejected')).toHaveLength(episodes)
    disk.free()
    await expect.poll(async () => (await send(server)).status).toBe(200)
    expect((await server.handle(ask)).status).toBe(200)
  }
}

describeMounts.each(drivers)('SQLite by %s', (driver) => {
  test('on a full disk rejects new tasks, says so once, and goes on when there is room', async () => {
    const disk = openDisk(16 * mib)
    await mustSayFull(await openSqliteStore(join(disk.folder, 't.db'), { driver }), disk)
  })

  test('on a mount that is read-only says what to do', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'corral-store-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const store = await openSqliteStore(join(folder, 't.db'), { driver })
    await store.commit([write('kept')])
    await store.backup(join(folder, 'copy.db'))
    await store.close()
    copyFileSync(join(folder, 'copy.db'), join(folder, 'locked.db'))
    copyFileSync(join(folder, 't.db.lock'), join(folder, 'locked.db.lock'))
    const shown = mountReadOnly(folder)
    onTestFinished(() => shown.remove())
    for (const name of ['copy.db', 'locked.db', 'new.db'])
      await expect(openSqliteStore(join(shown.folder, name), { driver })).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/read-only: .*writable/),
      })
  })
})

describePostgres('PostgreSQL', () => {
  const database = usePostgres()

  /** A user of its own, with its URL. */
  async function createUser(): Promise<{ name: string; url: string }> {
    const name = `${database.newSchema()}_user`
    await database.query(`CREATE ROLE ${name} LOGIN`)
    await database.query(`GRANT CREATE ON DATABASE postgres TO ${name}`)
    onTestFinished(async () => {
      await database.query(`DROP OWNED BY ${name} CASCADE`)
      await database.query(`DROP ROLE ${name}`)
    })
    const url = new URL(database.url)
    url.username = name
    return { name, url: url.href }
  }

  async function open(url: string) {
    const schema = database.newSchema()
    return openPostgresStore({ url, schema, lookMs: 50, pool: { readers: 2 }, logger: false })
  }

  describeMounts('on a disk of its own', () => {
    test('that is full rejects new tasks, says so once, and goes on when there is room', async () => {
      const disk = openDisk(64 * mib)
      const space = `${database.newSchema()}_space`
      const folder = join(disk.folder, 'space')
      mkdirSync(folder)
      chownSync(folder, nobody, nobody)
      await database.query(`CREATE TABLESPACE ${space} LOCATION '${folder}'`)
      onTestFinished(() => database.query(`DROP TABLESPACE ${space}`).then(() => {}))
      const { name, url } = await createUser()
      await database.query(`GRANT CREATE ON TABLESPACE ${space} TO ${name}`)
      await database.query(`ALTER ROLE ${name} SET default_tablespace = ${space}`)
      await mustSayFull(await open(url), disk)
    })
  })

  test('that is read-only says what to do, and is written again when it is not', async () => {
    const { name, url } = await createUser()
    const store = await open(url)
    const { server } = await serveOn(store)
    expect((await send(server)).status).toBe(200)
    await database.query(`ALTER ROLE ${name} SET default_transaction_read_only = on`)
    await end(name)
    await expect
      .poll(() => store.health().reason ?? '')
      .toMatch(/the database is read-only: .*primary/)
    expect((await send(server)).status).toBe(503)
    await database.query(`ALTER ROLE ${name} RESET default_transaction_read_only`)
    await end(name)
    await expect.poll(async () => (await send(server)).status).toBe(200)
  })

  test('whose connections are all taken says so, at the start and while it runs', async () => {
    const { name, url } = await createUser()
    const store = await open(url)
    const { server } = await serveOn(store)
    const [wire] = wiresOf(server.handle)
    expect((await send(server)).status).toBe(200)
    await database.query(`ALTER ROLE ${name} CONNECTION LIMIT 0`)
    await expect(open(url)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/the database takes no more connections: .*max_connections/),
    })
    await end(name)
    const taken = expect.stringContaining('the database takes no more connections')
    await expect
      .poll(async () => (await wire?.ask('GetTask', { id: 'any' }))?.body.error.message)
      .toEqual(taken)
    await expect.poll(() => store.health().reason).toEqual(taken)
    expect((await send(server)).status).toBe(503)
    await database.query(`ALTER ROLE ${name} CONNECTION LIMIT -1`)
    await expect.poll(async () => (await send(server)).status).toBe(200)
  })

  /** Ends all connections of a user. */
  async function end(name: string): Promise<void> {
    await database.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1',
      [name],
    )
  }
})
