import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/app/config/load.ts'
import { type ServeOptions, type Serving, serveConfig } from '../../src/app/serve.ts'
import { A2AClient } from '../../src/client/index.ts'
import '../support/programs.ts'

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

async function serve(server: string, options: Partial<ServeOptions> = {}): Promise<Serving> {
  const path = join(directory, 'corral.toml')
  const agent = '[[agents]]\nid = "a"\nname = "A"\nendpoint = "./a.mjs"\nprotocol = "module"\n'
  writeFileSync(path, `${agent}[server]\nport = 0\n${server}`)
  const serving = await serveConfig(await loadConfig(path, {}), { path, env: {}, ...options })
  closing.push(serving.close)
  return serving
}

describe('serving a configuration', () => {
  test('keeps tasks in the file that the configuration names, relative to it', async () => {
    const { store, close } = await serve('store = "data/tasks.db"')
    expect(store).toBe(join(directory, 'data/tasks.db'))
    expect(existsSync(store)).toBe(true)
    await close()
    await close()
  })

  test('keeps the directory of its own for its user alone, also one that was there', async () => {
    const modeOf = (name: string): number => statSync(join(directory, name)).mode & 0o777
    mkdirSync(join(directory, 'there/.corral'), { recursive: true, mode: 0o755 })
    for (const place of ['.corral', 'there/.corral']) {
      await (await serve(`store = "${place}/tasks.db"`)).close()
      expect(modeOf(place)).toBe(0o700)
    }
    mkdirSync(join(directory, 'data'), { mode: 0o755 })
    await serve('store = "data/tasks.db"')
    expect(modeOf('data')).toBe(0o755)
  })

  test.each(['memory', 'tasks.db'])(
    'keeps as many tasks as the file says, in %s',
    async (store) => {
      const { listening } = await serve(`store = "${store}"\n[server.retention]\nmax_tasks = 1`)
      const call = async (method: string, params: object) => {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
        const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
        const answer = await fetch(listening.url, { method: 'POST', headers, body })
        return (await answer.json()).result
      }
      const message = { role: 'ROLE_USER', parts: [{ text: 'hi' }] }
      // Finished tasks are counted again after 500 writes at the latest.
      for (let i = 0; i < 510; i += 1)
        await call('SendMessage', { message: { ...message, messageId: `m${i}` } })
      await expect.poll(async () => (await call('ListTasks', {})).totalSize).toBeLessThan(20)
    },
  )

  test('warns on stderr where no logger is given, and says nothing where it is false', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const throws = async (options: Partial<ServeOptions>) => {
      writeFileSync(join(directory, 'a.mjs'), 'export default () => { throw new Error("no luck") }')
      const { listening } = await serve('store = "memory"', options)
      const client = new A2AClient(listening.url)
      await client.sendMessage('hi')
      await client.close()
    }
    try {
      await throws({ logger: false })
      expect(said).not.toHaveBeenCalled()
      await throws({})
      expect(said.mock.calls.join()).toMatch(/ERROR The agent failed[\s\S]*no luck[\s\S]*a\.mjs/)
    } finally {
      said.mockRestore()
    }
  })

  test('finds the remote agents that do not answer', async () => {
    const dead =
      '[[agents]]\nid = "d"\nname = "D"\nendpoint = "http://127.0.0.1:1"\nprotocol = "a2a"'
    const { findUnreachable } = await serve(`store = "memory"\n${dead}`, { logger: false })
    expect(await findUnreachable()).toEqual([
      { id: 'd', host: '127.0.0.1:1', reason: expect.any(String) },
    ])
  })

  test('takes what it is told before what the file says', async () => {
    const { store, listening } = await serve('store = "tasks.db"\nhost = "0.0.0.0"', {
      store: 'memory',
      host: '127.0.0.1',
    })
    expect(store).toBe('memory')
    expect(listening.host).toBe('127.0.0.1')
    expect(existsSync(join(directory, 'tasks.db'))).toBe(false)
  })

  test('shows the public URL in the card, and offers webhooks unless the file turns them off', async () => {
    const cardOf = async ({ listening: { port } }: Serving) =>
      (await fetch(`http://127.0.0.1:${port}/.well-known/agent-card.json`)).json()
    const on = await serve('public_url = "https://agents.example"', { store: 'memory' })
    expect(await cardOf(on)).toMatchObject({
      url: 'https://agents.example/',
      capabilities: { pushNotifications: true },
    })
    const off = await serve('webhooks = { enabled = false }', { store: 'memory' })
    expect((await cardOf(off)).capabilities.pushNotifications).not.toBe(true)
  })

  test('refuses bodies beyond the limit of the file', async () => {
    const { listening } = await serve('limits = { max_body_bytes = 100 }', { store: 'memory' })
    const response = await fetch(`${listening.url}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ filler: 'x'.repeat(200) }),
    })
    expect(response.status).toBe(413)
  })

  test('leaves nothing open where the port is taken', async () => {
    const { listening } = await serve('', { store: 'memory' })
    const store = join(directory, 'tasks.db')
    await expect(serve('', { store, port: listening.port })).rejects.toThrow('already in use')
    expect((await serve('', { store })).store).toBe(store)
  })
})
