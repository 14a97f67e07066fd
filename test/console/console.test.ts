import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createConsole } from '../../src/console/console.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { ask } from '../server/asking.ts'
import { as, openScene, worker } from './scene.ts'

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

/** A page as the build leaves it. */
function built(): string {
  const folder = mkdtempSync(join(tmpdir(), 'corral-page-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Corral</title>')
  writeFileSync(join(folder, 'assets', 'index-Ab12.js'), 'export {}')
  writeFileSync(join(folder, 'assets', 'secret.txt'), 'secret')
  return folder
}

describe('the page', () => {
  test('is at /console and, for a browser, at the root; without a credential', async () => {
    const { url } = await openScene({ isClosed: true, console: { page: built() } })
    for (const path of ['/console', '/console/', '/']) {
      const reply = await ask(url + path, { headers: { accept: browser } })
      expect(reply.status, path).toBe(200)
      expect(reply.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(reply.headers['cache-control']).toBe('no-cache')
      expect(reply.text).toContain('<title>Corral')
    }
  })

  test('may do nothing but talk to its own server', async () => {
    const { url } = await openScene({ cors: { origins: '*' }, console: { page: built() } })
    const { headers } = await ask(`${url}/console/`, { headers: { accept: browser } })
    const policy = String(headers['content-security-policy'])
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "img-src 'self' data:",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
      expect(policy.split('; ')).toContain(rule)
    expect(policy).not.toContain('unsafe')
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['access-control-allow-origin']).toBeUndefined()
  })

  test('has assets that never change, and no other files', async () => {
    const { url } = await openScene({ console: { page: built() } })
    const script = await ask(`${url}/console/assets/index-Ab12.js`)
    expect(script).toMatchObject({ status: 200, text: 'export {}' })
    expect(script.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(script.headers['content-type']).toBe('text/javascript; charset=utf-8')
    for (const path of ['secret.txt', '../index.html', '..%2findex.html', '', 'nothing.js'])
      expect((await ask(`${url}/console/assets/${path}`)).status, path).toBe(404)
    expect((await ask(`${url}/console/assets/index-Ab12.js`, { method: 'POST' })).status).toBe(405)
  })

  test('comes compressed to whoever takes that', async () => {
    const server = await createServer({
      agents: [worker],
      logger: false,
      console: createConsole({ page: built() }),
    })
    onTestFinished(() => server.close())
    const reply = await server.handle({
      method: 'GET',
      path: '/console',
      query: '',
      headers: { 'accept-encoding': 'gzip, br' },
      body: '',
    })
    expect(reply?.headers).toMatchObject({ 'content-encoding': 'gzip' })
    expect(gunzipSync(reply?.body as Uint8Array).toString()).toContain('<title>') // bytes of the page
  })

  test('leaves the root to the agent for everybody else', async () => {
    const { url } = await openScene({ console: { page: built() } })
    for (const accept of ['*/*', 'application/json', 'text/event-stream'])
      expect((await ask(`${url}/`, { headers: { accept } })).status, accept).toBe(405)
    const rpc = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'none' } }
    const answer = await ask(`${url}/`, {
      headers: { accept: browser, 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify(rpc),
    })
    expect(answer.json).toMatchObject({ id: 1, error: { code: -32001 } })
  })

  test('is nowhere where the server has no console', async () => {
    const server = await createServer({ agents: [worker], logger: false })
    const listening = await listen(server, { port: 0, host: '127.0.0.1', logger: false })
    onTestFinished(() => listening.close())
    const base = `http://127.0.0.1:${listening.port}`
    expect((await ask(`${base}/`, { headers: { accept: browser } })).status).toBe(405)
    expect((await ask(`${base}/console/api/roster`)).status).toBe(404)
  })

  test('says what to do where nobody has built it, and the API answers all the same', async () => {
    const { url, api } = await openScene({ isClosed: true, console: { page: '/nowhere' } })
    const reply = await ask(`${url}/console`, { headers: { accept: browser } })
    expect(reply.status).toBe(503)
    expect(reply.json.error.message).toContain('npm run build')
    expect((await ask(`${url}/`, { headers: { accept: browser } })).status).toBe(405)
    expect((await api('roster', { headers: as('ann') })).status).toBe(200)
  })
})
