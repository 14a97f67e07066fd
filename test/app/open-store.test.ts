import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig, parseConfig } from '../../src/app/config/load.ts'
import { type Serving, serveConfig } from '../../src/app/serve.ts'
import { A2AClient } from '../../src/client/index.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'

const agent = '[[agents]]\nid = "a"\nname = "A"\nendpoint = "./a.mjs"\nprotocol = "module"\n'

let directory = ''
const closing: (() => Promise<void>)[] = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'corral-'))
  writeFileSync(join(directory, 'a.mjs'), 'export default () => "from a"')
})

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  rmSync(directory, { recursive: true })
})

async function serve(server: string, env: Readonly<Record<string, string>>): Promise<Serving> {
  const path = join(directory, 'corral.toml')
  writeFileSync(path, `${agent}[server]\nport = 0\n${server}`)
  const serving = await serveConfig(await loadConfig(path, env), { path, env, logger: false })
  closing.push(serving.close)
  return serving
}

describePostgres('a store in PostgreSQL', () => {
  const database = usePostgres()

  test('is opened where the file names its URL, and two servers of one file share its tasks', async () => {
    const schema = database.newSchema()
    const table = `[server.postgres]\nschema = "${schema}"\nreaders = 2\nlease_ms = 3000\nchunk_gap_ms = 25\n`
    const file = `store = "\${DATABASE}"\n${table}`
    const one = await serve(file, { DATABASE: database.url })
    const two = await serve(file, { DATABASE: database.url })
    const client = new A2AClient(one.listening.url)
    const { task } = (await client.sendMessage('hello')) as { task: { id: string } } // a string completes a task
    await client.close()
    const other = new A2AClient(two.listening.url)
    expect(await other.getTask(task.id)).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
    })
    await other.close()
    expect(one.server.store.chunkGapMs).toBe(25)
    expect(one.server.store.feed?.replica).not.toBe(two.server.store.feed?.replica)
  })

  test('is shown without who logs in', async () => {
    const schema = database.newSchema()
    const file = `store = "${database.url}"\n[server.postgres]\nschema = "${schema}"\n`
    const { store } = await serve(file, {})
    const { username, password, host, pathname } = new URL(database.url)
    expect(store).toBe(`postgres://${host}${pathname}`)
    for (const secret of [username, password].filter(Boolean))
      expect(store.slice('postgres://'.length)).not.toContain(`${secret}@`)
  })

  test('has its session elsewhere where the file says so', async () => {
    const session = 'session_url = "postgres://anna:geheim@127.0.0.1:1/tasks"'
    const file = `store = "${database.url}"\n[server.postgres]\nschema = "${database.newSchema()}"\n${session}\n`
    const error = await serve(file, {}).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'unavailable' })
    expect(String(error)).not.toContain('geheim')
  })

  test('refuses a bound on the size of a file', async () => {
    const file = `store = "${database.url}"\n[server.retention]\nmax_bytes = 1000000\n`
    await expect(serve(file, {})).rejects.toThrow(/max_bytes .*take it out/)
  })
})

describe('opening a database that is not there', () => {
  const nowhere = 'postgres://anna:geheim@127.0.0.1:1/tasks?password=geheim'

  test('says where it was looked for, and not with which password', async () => {
    const error = await serve(`store = "${nowhere}"\n`, {}).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'unavailable' })
    expect(String(error)).toContain('Cannot open the task store postgres://127.0.0.1:1/tasks')
    expect(String(error)).not.toContain('geheim')
  })

  test('names a file of TLS that cannot be read', async () => {
    const file = `store = "${nowhere}"\n[server.postgres.tls]\nca = "none.pem"\n`
    await expect(serve(file, {})).rejects.toThrow(
      'Cannot read none.pem, which ca in [server.postgres.tls] names',
    )
  })
})

test.each([
  ['lease_ms = 1000', 'lease_ms: must be at least twice beat_ms'],
  ['schema = "My Schema"', 'schema: must be small letters'],
  ['session_url = "http://pool"', 'session_url'],
  ['leese_ms = 5000', 'leese_ms'],
  ['foreign_build_after_seconds = "never"', 'foreign_build_after_seconds'],
])('%s in [server.postgres] is refused with its name', (line, words) => {
  const text = `${agent}[server]\nport = 0\n[server.postgres]\n${line}\n`
  expect(() => parseConfig(text)).toThrow(words)
})
