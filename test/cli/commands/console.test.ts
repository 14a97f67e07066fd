import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createEchoAgent } from '../../../src/agents/index.ts'
import { serve as serveAgent } from '../../acceptance/serve.ts'
import { corral, serve, start, temporary } from '../corral.ts'

test('corral console prints the page of a running server', async () => {
  const { url } = await serve(['demo'], { cwd: temporary() })
  const { code, stdout } = await corral(['console', `${url}/agents/studio`])
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${url}/console/\n` })
  const asJson = await corral(['console', url, '--json'])
  expect(JSON.parse(asJson.stdout)).toEqual({ url: `${url}/console/` })
})

test('corral console serves one for an agent that has none, and opens it there', async () => {
  const { url } = await serveAgent(createEchoAgent())
  const cwd = temporary()
  const browser = join(cwd, 'browser.sh')
  const opened = join(cwd, 'opened')
  writeFileSync(
    browser,
    `#!/bin/sh\nprintf %s "$1" > "${opened}.part" && mv "${opened}.part" "${opened}"\n`,
  )
  chmodSync(browser, 0o755)
  const command = start(['console', url, '--open'], { cwd, env: { BROWSER: browser } })
  const [page = ''] = await command.seen(/http:\S+\/console\/#\/agents\/\S+/)
  expect(decodeURIComponent(page.split('#/agents/')[1] ?? '')).toBe(`${url}/`)
  await expect.poll(() => readFileSync(opened, { encoding: 'utf8', flag: 'a+' })).toBe(page)
  const base = page.slice(0, page.indexOf('/console/'))
  expect((await fetch(`${base}/console/`)).headers.get('content-type')).toContain('text/html')
  const relay = await fetch(`${base}/console/api/relay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'card', url }),
  })
  expect(await relay.json()).toMatchObject({ card: { name: 'Echo Agent' } })
  command.signal('SIGINT')
  expect((await command.ended).code).toBe(0)
})

test('corral console says that no agent is there, and serves no page for it', async () => {
  const away = await corral(['console', 'http://127.0.0.1:9'])
  expect(away).toMatchObject({ code: 2, stdout: '' })
  expect(away.stderr).toMatch(/Cannot connect to 127\.0\.0\.1:9\nIs it running\?/)
  const server = createServer((_, reply) => reply.writeHead(404).end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  const other = await corral(['console', `http://127.0.0.1:${port}`])
  expect(other).toMatchObject({ code: 2, stdout: '' })
  expect(other.stderr).toContain('No agent card at')
})

test('corral console says what is wrong with a URL', async () => {
  const { code, stderr } = await corral(['console', 'localhost'])
  expect(code).toBe(2)
  expect(stderr).toContain('http://')
})
