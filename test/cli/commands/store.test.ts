import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { A2AClient } from '../../../src/client/index.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'
import { corral, serve, temporary } from '../corral.ts'
import { clerkAgent, writeFile } from '../files.ts'

/** A file with tasks of a server that has stopped. */
async function writeStore(cwd: string, tasks: number): Promise<void> {
  const { url, signal, ended } = await serve(['serve', writeFile(cwd), '--store', 'tasks.db'], {
    cwd,
  })
  const client = new A2AClient(url)
  for (let i = 0; i < tasks; i++) await client.sendMessage(`hello ${i}`)
  await client.close()
  signal('SIGTERM')
  await ended
}

describe('corral store', () => {
  test('shows, prunes and migrates a file', async () => {
    const cwd = temporary()
    await writeStore(cwd, 3)
    const info = await corral(['store', 'info', 'tasks.db', '--json'], { cwd })
    expect(JSON.parse(info.stdout)).toMatchObject({
      store: 'tasks.db',
      kind: 'sqlite',
      states: { TASK_STATE_COMPLETED: 3 },
      counts: { tasks: 3, webhooks: 0 },
    })
    const page = await corral(['store', 'info', 'tasks.db'], { cwd })
    expect(page.stdout).toMatch(/^tasks +3$/m)
    const none = await corral(['store', 'prune', 'tasks.db'], { cwd })
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('--max-age-days') })
    const pruned = await corral(['store', 'prune', 'tasks.db', '--max-tasks', '1'], { cwd })
    expect(pruned).toMatchObject({ code: 0, stdout: '2 tasks dropped from tasks.db\n' })
    const migrated = await corral(['store', 'migrate', 'tasks.db', '--json'], { cwd })
    expect(JSON.parse(migrated.stdout)).toEqual({ store: 'tasks.db', from: 4, to: 4 })
  })

  test('makes no store where there is none to look into or to copy', async () => {
    const cwd = temporary()
    for (const args of [
      ['info', 'none.db'],
      ['prune', 'none.db', '--max-tasks', '1'],
      ['migrate', 'none.db'],
      ['copy', 'none.db', 'copy.db'],
    ]) {
      const { code, stderr } = await corral(['store', ...args], { cwd })
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('none.db'),
      })
    }
    expect(existsSync(join(cwd, 'none.db'))).toBe(false)
    expect(existsSync(join(cwd, 'copy.db'))).toBe(false)
  })
})

describePostgres('corral with a PostgreSQL URL', () => {
  const database = usePostgres()

  test('copies a file into it, serves it from there, and copies it back', async () => {
    const cwd = temporary()
    await writeStore(cwd, 2)
    const schema = database.newSchema()
    const there = ['--schema', schema]
    const copied = await corral(['store', 'copy', 'tasks.db', database.url, ...there, '--json'], {
      cwd,
    })
    expect(JSON.parse(copied.stdout)).toMatchObject({ copied: 2, same: true })
    const table = `\n[server.postgres]\nschema = "${schema}"\n`
    const file = writeFile(cwd, clerkAgent() + table)
    const served = await serve(['serve', file, '--store', database.url], { cwd })
    const list = await corral(['task', 'list', served.url, '--json'])
    expect(JSON.parse(list.stdout).tasks).toHaveLength(2)
    const busy = await corral(['store', 'copy', database.url, 'back.db', ...there], { cwd })
    expect(busy).toMatchObject({ code: 2, stderr: expect.stringContaining('1 replicas use') })
    served.signal('SIGTERM')
    expect((await served.ended).code).toBe(0)
    const back = await corral(['store', 'copy', database.url, 'back.db', ...there], { cwd })
    expect(back).toMatchObject({ code: 0, stdout: expect.stringContaining('Both hold the same.') })
    const info = await corral(['store', 'info', database.url, ...there, '--json'])
    expect(JSON.parse(info.stdout)).toMatchObject({ kind: 'postgres', counts: { tasks: 2 } })
    const pruned = await corral(['store', 'prune', database.url, ...there, '--max-tasks', '1'])
    expect(pruned.stdout).toContain('1 tasks dropped')
  })

  test('has no word of the password in what it writes', async () => {
    const url = 'postgres://anna:geheim@127.0.0.1:1/tasks'
    const cwd = temporary()
    const commands = [
      ['serve', writeFile(cwd), '--store', url],
      ['store', 'info', url],
      ['webhooks', 'list', url],
      ['backup', url, 'copy.dump'],
      ['store', 'copy', url, 'copy.db', '--debug'],
    ]
    for (const command of commands) {
      const { code, stdout, stderr } = await corral(command, { cwd })
      expect(code).toBe(2)
      expect(stdout + stderr).not.toContain('geheim')
    }
    const { stderr } = await corral(['backup', url, 'copy.dump'])
    expect(stderr).toContain('pg_dump')
  })

  test('says which package is missing', async () => {
    const cwd = temporary()
    const hide = `import { register } from 'node:module'
const words = 'export async function resolve(s, c, n) { if (s === "pg") throw new Error("not found"); return n(s, c) }'
register('data:text/javascript,' + encodeURIComponent(words))`
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(hide)}` }
    const { code, stderr } = await corral(['store', 'info', database.url], { cwd, env })
    expect(code).toBe(2)
    expect(stderr).toContain('A store in PostgreSQL needs the package pg: npm install pg')
  })

  test('lists deliveries that were given up', async () => {
    const schema = database.newSchema()
    await corral(['store', 'migrate', database.url, '--schema', schema])
    const list = await corral(['webhooks', 'list', database.url, '--schema', schema])
    expect(list).toMatchObject({ code: 0, stdout: 'No delivery was given up\n' })
    const other = await corral(['webhooks', 'list', database.url, '--schema', 'nobodys'])
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('schema nobodys') })
  })
})
