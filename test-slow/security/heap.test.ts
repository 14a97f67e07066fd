import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

/** The attack that was: 56 messages of 9 MB against a heap of 512 MB. */
const count = 56
const bulk = 'x'.repeat(9_000_000)

async function start(path: string): Promise<{ url: string; child: ChildProcess }> {
  const child = fork(join(import.meta.dirname, 'heap-process.ts'), [path], {
    execArgv: ['--import', 'tsx', '--max-old-space-size=512'],
  })
  onTestFinished(async () => {
    if (child.exitCode !== null) return
    child.send('close')
    await once(child, 'exit')
  })
  const [{ url }] = await once(child, 'message')
  return { url, child }
}

async function send(url: string, text: string): Promise<number> {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] }
  const response = await fetch(`${url}/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ message, configuration: { returnImmediately: true } }),
  })
  await response.arrayBuffer()
  if (response.status === 503) expect(response.headers.get('retry-after')).toBe('1')
  return response.status
}

async function flood(url: string, word: string): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < count; i += 4) {
    const some = Array.from({ length: 4 }, () => send(url, `${word} ${bulk}`))
    statuses.push(...(await Promise.all(some)))
  }
  return statuses
}

async function file(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-heap-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'tasks.db')
}

test.each([
  ['memory', async () => ''],
  ['SQLite', file],
])('56 messages of 9 MB leave a server of 512 MB standing, over %s', async (_store, path) => {
  const { url, child } = await start(await path())
  // Those that stay fill the sender's share: a quarter of an eighth of the heap has room for one or two.
  const staying = await flood(url, 'stay')
  const taken = staying.filter((status) => status === 200).length
  expect(taken).toBeGreaterThan(0)
  expect(taken).toBeLessThan(3)
  expect(staying.filter((status) => status === 503)).toHaveLength(count - taken)
  // What is small is served all the same.
  expect(await send(url, 'hello')).toBe(200)
  expect(child.exitCode).toBeNull()
})

test.each([
  ['memory', async () => ''],
  ['SQLite', file],
])('56 messages of 9 MB one after the other are answered, over %s', async (_store, path) => {
  const { url, child } = await start(await path())
  for (let i = 0; i < count; i += 1) expect(await send(url, bulk)).toBe(200)
  expect(await send(url, 'hello')).toBe(200)
  expect(child.exitCode).toBeNull()
})
