import { expect, onTestFinished, test } from 'vitest'
import { parseConfig, serveConfig, TeamServer } from '../../src/team/index.ts'
import { ask } from '../server/asking.ts'
import { createPair } from './scene.ts'

async function serveFile(console: string): Promise<{ url: string; hasConsole: boolean }> {
  const text = `
[[agents]]
id = "far"
name = "Far"
endpoint = "http://127.0.0.1:9"
protocol = "a2a"
${console}
`
  const serving = await serveConfig(parseConfig(text), {
    path: 'team.toml',
    env: {},
    port: 0,
    store: 'memory',
    logger: false,
  })
  onTestFinished(() => serving.close())
  const { listening, hasConsole } = serving
  return { url: `http://127.0.0.1:${listening.port}`, hasConsole }
}

test('a file is served with a console, which knows its store', async () => {
  const { url, hasConsole } = await serveFile('')
  expect(hasConsole).toBe(true)
  const { json: roster } = await ask(`${url}/console/api/roster`)
  expect(roster).toMatchObject({
    server: { store: 'memory' },
    agents: [{ id: 'far', kind: 'remote' }],
  })
})

test('a file may say that there is none', async () => {
  const { url, hasConsole } = await serveFile('[server.console]\nenabled = false')
  expect(hasConsole).toBe(false)
  expect((await ask(`${url}/console/api/roster`)).status).toBe(404)
  expect((await ask(`${url}/`, { headers: { accept: 'text/html' } })).status).toBe(405)
})

test('what a file allows is checked when it is read', () => {
  const text = '[server.console]\nallow = ["not a host"]\n'
  expect(() => parseConfig(text)).toThrow(/allow.*host/s)
})

test('a TeamServer has a console where it is told so', async () => {
  for (const [console, status] of [
    [true, 200],
    [{ allow: ['agents.internal'] }, 200],
    [false, 404],
  ] as const) {
    const server = new TeamServer(createPair(), 0, { host: '127.0.0.1', logger: false, console })
    await server.start()
    onTestFinished(() => server.shutdown())
    expect((await ask(`http://127.0.0.1:${server.port}/console/api/roster`)).status).toBe(status)
  }
})
