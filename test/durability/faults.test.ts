import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openConnection } from '../../src/store/sqlite/driver.ts'
import { start, temporary } from '../cli/corral.ts'
import { writeFile } from '../cli/files.ts'
import { open, type Scene } from './scene.ts'

const large = 'x'.repeat(40_000)

async function healthOf({ server }: Scene): Promise<{ status: number; store: unknown }> {
  const response = await fetch(`${server.url()}/health`)
  const { store } = (await response.json()) as { store: unknown } // as the server writes it
  return { status: response.status, store }
}

/**
 * Sends until the server refuses; gives the ids that it acknowledged, and the refusal. These tasks wait for input:
 * retention would make room by dropping finished ones.
 */
async function fillUp({ send }: Scene): Promise<{ ids: readonly string[]; refusal: unknown }> {
  const ids: string[] = []
  for (;;) {
    try {
      ids.push((await send('ask', large)).id)
    } catch (refusal) {
      return { ids, refusal }
    }
  }
}

test('a full disk: sends are refused, reads go on, /health says why, and nothing acknowledged is lost', async () => {
  const scene = await open({ store: { maxBytes: 1_000_000 } })
  const { ids, refusal } = await fillUp(scene)
  expect(ids.length).toBeGreaterThan(0)
  expect(refusal).toMatchObject({ message: 'The task store cannot write: the disk is full' })
  expect(await healthOf(scene)).toEqual({
    status: 503,
    store: { writable: false, reason: 'The task store cannot write: the disk is full' },
  })
  const states = async (): Promise<readonly string[]> => {
    const tasks = await Promise.all(ids.map((id) => scene.get('ask', id)))
    return tasks.map(({ status }) => status.state)
  }
  const waiting = ids.map(() => 'TASK_STATE_INPUT_REQUIRED')
  expect(await states()).toEqual(waiting)

  await scene.server.kill()
  await scene.restartWith({ store: {} })
  expect(await states()).toEqual(waiting)
  expect(await healthOf(scene)).toEqual({ status: 200, store: { writable: true } })
  expect((await scene.send('stream', 'hello')).status.state).toBe('TASK_STATE_COMPLETED')
})

test('a read-only file: the start is refused with the reason, and the file is as it was', async () => {
  const { file, folder, server, send, restartWith } = await open()
  await send('stream', 'hello')
  await server.stop()
  const before = readFileSync(file)
  chmodSync(folder, 0o755)
  chmodSync(file, 0o444)
  await expect(restartWith({ asNobody: true })).rejects.toThrow(
    /Cannot open the task store .*(read-only|cannot be opened)/,
  )
  expect(readFileSync(file).equals(before)).toBe(true)
})

/** What `corral serve` says and how it ends on a store that it cannot use. */
async function serveOn(store: string): Promise<{ code: number | null; stderr: string }> {
  const path = writeFile(temporary())
  const { code, stderr } = await start(['serve', path, '--store', store, '--port', '0']).ended
  return { code, stderr }
}

/** A file that a server has used. */
async function usedFile(): Promise<string> {
  const { file, server, send } = await open()
  for (let count = 0; count < 20; count++) await send('stream', `${large} 2`)
  await server.stop()
  return file
}

test('a damaged file: corral serve says so, ends, and leaves it as it is', async () => {
  const file = await usedFile()
  const bytes = readFileSync(file)
  bytes.fill(0x5a, 8_192, 200_000)
  writeFileSync(file, bytes)
  const { code, stderr } = await serveOn(file)
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/Cannot open the task store .*damaged/)
  expect(stderr).not.toContain('    at ')
  expect(readFileSync(file).equals(bytes)).toBe(true)
})

test('a file that is no database: corral serve says so and leaves it as it is', async () => {
  const { file, server } = await open()
  await server.stop()
  writeFileSync(file, 'These are my notes.\n'.repeat(500))
  const { code, stderr } = await serveOn(file)
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/Cannot open the task store .*not a database/)
  expect(readFileSync(file, 'utf8')).toBe('These are my notes.\n'.repeat(500))
})

test('a file of a newer version: corral serve says so', async () => {
  const file = await usedFile()
  const db = await openConnection(file)
  db.exec('PRAGMA user_version = 999')
  db.close()
  const { code, stderr } = await serveOn(file)
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/Cannot open the task store .*newer/)
})

test('a file that another server uses: corral serve names the process', async () => {
  const { file, send } = await open()
  const { code, stderr } = await serveOn(file)
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/process \d+ is using it/)
  expect((await send('stream', 'hello')).status.state).toBe('TASK_STATE_COMPLETED')
})
