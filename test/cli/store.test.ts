import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { A2AClient } from '../../src/client/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { corral, serve, temporary } from './corral.ts'
import { clerkAgent, writeFile } from './files.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A receiver of webhooks that answers with a status which the test sets. */
async function createReceiver(): Promise<{
  readonly url: string
  readonly reached: Promise<void>
  status: number
}> {
  const reached = createDeferred<void>()
  const receiver = { url: '', reached: reached.promise, status: 410 }
  const server = createServer((request, response) => {
    reached.resolve()
    request.resume().on('end', () => response.writeHead(receiver.status).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/` // it listens
  return receiver
}

describe('corral backup', () => {
  test('copies a store while a server uses it; the copy serves the same tasks', async () => {
    const cwd = temporary()
    const file = writeFile(cwd)
    const { url } = await serve(['serve', file, '--store', 'tasks.db'], { cwd })
    await corral(['send', url, 'hello'])
    const copied = await corral(['backup', 'tasks.db', 'copy.db', '--json'], { cwd })
    expect(copied.code).toBe(0)
    expect(JSON.parse(copied.stdout)).toEqual({ store: 'tasks.db', target: 'copy.db' })
    const other = await serve(['serve', file, '--store', 'copy.db'], { cwd })
    const { stdout } = await corral(['task', 'list', other.url, '--json'])
    expect(JSON.parse(stdout).tasks).toMatchObject([{ status: { state: 'TASK_STATE_COMPLETED' } }])
  })

  test('refuses what is no store, and makes no file', async () => {
    const cwd = temporary()
    writeFileSync(join(cwd, 'notes.txt'), 'not a database, but long enough to be looked at')
    const none = await corral(['backup', 'none.db', 'copy.db'], { cwd })
    expect(none).toMatchObject({ code: 2, stderr: 'corral: There is no task store none.db\n' })
    const other = await corral(['backup', 'notes.txt', 'copy.db'], { cwd })
    expect(other).toMatchObject({ code: 2 })
    expect(other.stderr).toContain('notes.txt is no task store: the file is not a database')
    expect(existsSync(join(cwd, 'none.db'))).toBe(false)
    expect(existsSync(join(cwd, 'copy.db'))).toBe(false)
  })

  test('does not put the copy in the place of the store', async () => {
    const cwd = temporary()
    const { signal, ended } = await serve(['serve', writeFile(cwd), '--store', 'tasks.db'], { cwd })
    signal('SIGTERM')
    await ended
    const { code, stderr } = await corral(['backup', 'tasks.db', './tasks.db'], { cwd })
    expect(code).toBe(2)
    expect(stderr).toContain('is the task store itself')
  })
})

describe('corral webhooks', () => {
  test('lists deliveries that were given up, and redrives them', async () => {
    const cwd = temporary()
    const receiver = await createReceiver()
    const webhooks = '\n[server.webhooks]\nallow_http = true\nallow = ["127.0.0.1"]\n'
    const file = writeFile(cwd, clerkAgent() + webhooks)
    const { url, signal, ended } = await serve(['serve', file, '--store', 'tasks.db'], { cwd })
    const client = new A2AClient(url)
    const configuration = { taskPushNotificationConfig: { url: receiver.url } }
    await client.sendMessage('hello', { configuration })
    await client.close()
    await receiver.reached
    signal('SIGTERM')
    expect((await ended).code).toBe(0)
    const given = await corral(['webhooks', 'list', 'tasks.db', '--json'], { cwd })
    const letters = JSON.parse(given.stdout)
    expect(letters.length).toBeGreaterThan(0)
    const page = await corral(['webhooks', 'list', 'tasks.db'], { cwd })
    expect(page.stdout).toMatch(/^ID +TASK +AT +ATTEMPTS +REASON\n/)
    const none = await corral(['webhooks', 'redrive', 'tasks.db'], { cwd })
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('--all') })
    const open = ['--allow', '127.0.0.1', '--allow-http']
    const still = await corral(['webhooks', 'redrive', 'tasks.db', letters[0].id, ...open], { cwd })
    expect(still.code).toBe(1)
    expect(still.stdout).toMatch(/ refused: HTTP 4\d\d\n$/)
    receiver.status = 204
    const redriven = await corral(['webhooks', 'redrive', 'tasks.db', '--all', '--json', ...open], {
      cwd,
    })
    expect(redriven.code).toBe(0)
    expect(JSON.parse(redriven.stdout)).toHaveLength(letters.length)
    const left = await corral(['webhooks', 'list', 'tasks.db'], { cwd })
    expect(left.stdout).toBe('No delivery was given up\n')
  })
})
