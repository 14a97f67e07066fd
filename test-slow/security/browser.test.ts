import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createServer, listen, type ServerOptions } from '../../src/server/index.ts'
import { readAll, submitForms, type Target, writeAll } from '../../test/security/page.ts'
import { browserPath, openBrowser } from '../../test/support/browser.ts'

const secret = 'the key is under the mat'
const html = { 'content-type': 'text/html' }
const blank = '<!doctype html><title>page</title><body>'

/** A server on loopback that holds a secret, and what its agent has heard since. */
interface Scene {
  readonly port: number
  readonly taskId: string
  /** Messages that reached the agent. */
  readonly heard: readonly string[]
  /** How the task stands. */
  state(): Promise<string>
  /** Requests that reached the server, refused ones too: an attack that was never sent proves nothing. */
  arrived(): number
}

async function open(options: Partial<ServerOptions> = {}): Promise<Scene> {
  const heard: string[] = []
  const agent = defineAgent({ name: 'Keeper' }, async function* (_message, turn) {
    heard.push('a message')
    yield turn.status('TASK_STATE_INPUT_REQUIRED', secret)
  })
  const routes: ServerOptions['routes'] = ({ path }) =>
    path === '/own-page' ? { status: 200, headers: html, body: blank } : undefined
  const server = await createServer({ agents: [agent], routes, ...options })
  let count = 0
  const localHandle: typeof server.localHandle = (boundTo) => {
    const handle = server.localHandle(boundTo)
    return (request) => {
      count++
      return handle(request)
    }
  }
  const { port, close } = await listen({ ...server, localHandle }, { port: 0, host: '127.0.0.1' })
  onTestFinished(close)
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'keep it' }] } as const
  const answer = await server.dispatch()('SendMessage', { message }, {})
  if (!('task' in answer)) throw new Error('The agent has kept nothing')
  heard.length = 0
  const { id: taskId } = answer.task
  const state = async (): Promise<string> =>
    (await server.dispatch()('GetTask', { id: taskId }, {})).status.state
  return { port, taskId, heard, state, arrived: () => count }
}

/** A site that has nothing to do with the server; gives its port. */
async function serveSite(): Promise<number> {
  const site = createHttpServer((_request, response) => response.writeHead(200, html).end(blank))
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    site.closeAllConnections()
    site.close()
  })
  // A server that listens on TCP has an address with a port.
  return (site.address() as AddressInfo).port
}

describe.skipIf(!browserPath)('in a browser on this machine', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.close())

  async function visit(url: string, prepare?: (page: Page) => Promise<unknown>): Promise<Page> {
    const page = await browser.newPage()
    onTestFinished(() => page.close())
    await prepare?.(page)
    await page.goto(url)
    return page
  }

  async function attack(page: Page, target: Target): Promise<{ seen: string; answered: number }> {
    const seen = await page.evaluate(readAll, target)
    const answered = await page.evaluate(writeAll, target)
    await page.evaluate(submitForms, target)
    return { seen: seen.join('\n'), answered }
  }

  /** A page under a name that led to the attacker's server first, and leads to this machine now. */
  function visitRebound(own: string): Promise<Page> {
    return visit(`${own}/`, (page) =>
      page.route(`${own}/`, (route) =>
        route.request().method() === 'GET'
          ? route.fulfill({ body: blank, contentType: 'text/html' })
          : route.continue(),
      ),
    )
  }

  async function mustFail(page: Page, scene: Scene, url: string): Promise<void> {
    const { seen, answered } = await attack(page, { url, taskId: scene.taskId })
    expect({ seen, answered, heard: scene.heard }).toEqual({ seen: '', answered: 0, heard: [] })
    expect(await scene.state()).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(scene.arrived()).toBeGreaterThan(50)
  }

  async function mustSucceed(page: Page, scene: Scene, url: string): Promise<void> {
    const { seen, answered } = await attack(page, { url, taskId: scene.taskId })
    expect(seen).toContain(secret)
    expect(answered).toBeGreaterThan(0)
    expect(scene.heard.length).toBeGreaterThan(0)
    expect(await scene.state()).toBe('TASK_STATE_CANCELED')
  }

  test.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]'])(
    'a page of a foreign origin can neither read nor write, by the name %s',
    async (name) => {
      const scene = await open()
      const page = await visit(`http://foreign.test:${await serveSite()}/`)
      await mustFail(page, scene, `http://${name}:${scene.port}`)
    },
  )

  test('a page that made its own name point here can neither read nor write', async () => {
    const scene = await open()
    const own = `http://evil.test:${scene.port}`
    await mustFail(await visitRebound(own), scene, own)
  })

  test('a page of the server’s own reads and writes', async () => {
    const scene = await open()
    const own = `http://localhost:${scene.port}`
    await mustSucceed(await visit(`${own}/own-page`), scene, own)
  })

  test('a page of another port of this machine reads and writes', async () => {
    const scene = await open()
    const page = await visit(`http://localhost:${await serveSite()}/`)
    await mustSucceed(page, scene, `http://127.0.0.1:${scene.port}`)
  })

  test('foreign pages read and write where the server is open to all pages', async () => {
    const one = await open({ cors: { origins: '*' } })
    const foreign = await visit(`http://foreign.test:${await serveSite()}/`)
    await mustSucceed(foreign, one, `http://127.0.0.1:${one.port}`)
    const other = await open({ cors: { origins: '*' } })
    const own = `http://evil.test:${other.port}`
    await mustSucceed(await visitRebound(own), other, own)
  })
})
