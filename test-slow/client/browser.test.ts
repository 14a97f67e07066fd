import { readFileSync } from 'node:fs'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { bundleClient, type ClientBundle } from '../../scripts/package/bundle.ts'
import { limits } from '../../scripts/package/limits.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createServer, listen, type ServerOptions } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import type {} from './page.ts'

const root = join(import.meta.dirname, '../..')
const policy = "default-src 'none'; script-src 'self'; connect-src 'self'"
/** Modules that only Node has, or that a bundler leaves empty in their place. */
const foreign = /undici|client\/node\.js|network\/connect\.js|browser-external|^\0?node:/
let bundle: ClientBundle

beforeAll(async () => {
  bundle = await bundleClient(root, readFileSync(join(import.meta.dirname, 'page.ts'), 'utf8'))
})

test('the bundle has nothing of Node in it', () => {
  expect(bundle.modules.some((file) => file.endsWith('/client/fetch.js'))).toBe(true)
  expect(bundle.modules.filter((file) => foreign.test(file))).toEqual([])
  expect(bundle.code).not.toMatch(/["'`]node:|\brequire\(/)
})

test('every name of the client and the vocabulary can be bundled, and the client alone is small', async () => {
  const all = "export * from 'corral'\nexport * from 'corral/client'"
  const { modules } = await bundleClient(root, all)
  expect(modules.filter((file) => foreign.test(file))).toEqual([])
  const { gzippedBytes } = await bundleClient(root)
  expect(gzippedBytes).toBeLessThan(limits.browser)
})

describe.skipIf(!browserPath)('the client in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.close())

  /** A page of the agent's own server, whose connections can be cut. */
  async function visit(): Promise<{ page: Page; said: readonly string[] }> {
    const gate = createDeferred<void>()
    const wire = await openWire()
    const server = await createServer({
      agents: [createTeller(gate.promise)],
      publicUrl: wire.url,
      routes: pages,
      logger: false,
    })
    const { port, close } = await listen(server, { port: 0, host: '127.0.0.1' })
    onTestFinished(close)
    wire.leadTo(port)
    const page = await browser.newPage()
    onTestFinished(() => page.close())
    const said: string[] = []
    page.on('pageerror', (error) => said.push(String(error)))
    await page.exposeFunction('cut', () => {
      wire.cut()
      gate.resolve()
    })
    await page.goto(`${wire.url}/page`)
    await page.waitForFunction(() => 'corral' in globalThis)
    return { page, said }
  }

  function pages({
    path,
  }: {
    readonly path: string
  }): ReturnType<NonNullable<ServerOptions['routes']>> {
    const html = '<!doctype html><title>page</title><script type="module" src="/app.js"></script>'
    const own = { 'content-security-policy': policy }
    if (path === '/page')
      return { status: 200, headers: { ...own, 'content-type': 'text/html' }, body: html }
    const script = { ...own, 'content-type': 'text/javascript' }
    return path === '/app.js' ? { status: 200, headers: script, body: bundle.code } : undefined
  }

  test('finds the card, sends, streams, converses and cancels', async () => {
    const { page, said } = await visit()
    expect(await page.evaluate(() => corral.card())).toBe('Teller')
    expect(await page.evaluate(() => corral.send('hi'))).toBe('You said hi')
    expect(await page.evaluate(() => corral.stream('count'))).toEqual({
      texts: ['one ', 'two ', 'three'],
      states: ['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'],
    })
    expect(await page.evaluate(() => corral.converse())).toBe('You chose blue')
    expect(await page.evaluate(() => corral.cancel())).toBe('TASK_STATE_CANCELED')
    expect(said).toEqual([])
  })

  test('resumes a stream that breaks, each piece once and in order', async () => {
    const { page } = await visit()
    const texts = await page.evaluate(() => corral.resume('count slowly'))
    expect(texts).toEqual(['one ', 'two ', 'three'])
  })

  test('tells errors by their codes', async () => {
    const { page } = await visit()
    expect(await page.evaluate(() => corral.notFound())).toBe('taskNotFound')
    expect(await page.evaluate(() => corral.failed())).toBe('taskFailed')
    expect(await page.evaluate(() => corral.listens())).toBe('unsupportedOperation')
    // The page's own policy refuses the address: to the page that is a host which does not answer.
    expect(await page.evaluate(() => corral.unreachable('http://127.0.0.1:9'))).toBe('unavailable')
  })
})

function createTeller(gate: Promise<void>) {
  return defineAgent({ name: 'Teller' }, async function* ({ parts }, turn) {
    const text = textOf(parts)
    if (text === 'fail') throw new Error('It went wrong')
    if (text === 'wait')
      await new Promise((_, reject) => turn.signal.addEventListener('abort', reject))
    if (text === 'ask') {
      yield turn.status('TASK_STATE_INPUT_REQUIRED', 'Which colour?')
      return
    }
    if (turn.number > 1) yield `You chose ${text}`
    else if (!text.startsWith('count')) yield `You said ${text}`
    else {
      yield turn.status('TASK_STATE_WORKING', 'Counting')
      yield 'one '
      yield 'two '
      if (text === 'count slowly') await gate
      yield 'three'
    }
  })
}

interface Wire {
  readonly url: string
  /** Says which port of this machine it leads to. */
  leadTo(port: number): void
  /** Breaks all connections; new ones are let through. */
  cut(): void
}

/** A TCP line that can be cut. */
async function openWire(): Promise<Wire> {
  const sockets = new Set<Socket>()
  let port = 0
  const line = createTcpServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.pipe(other)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
  })
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    cut()
    line.close()
  })
  const address = line.address()
  if (typeof address !== 'object' || address === null) throw new Error('There is no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    leadTo(target) {
      port = target
    },
    cut,
  }
}
