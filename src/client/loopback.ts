import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createDeferred, withSignal } from '../shared/async.ts'
import { checkOptions } from '../shared/options.ts'
import { readUrl } from '../shared/text.ts'
import type { Redirect } from './auth/oauth.ts'

/** Where to listen for the browser. */
export interface LoopbackOptions {
  /** 0, the default, takes a free port; servers must allow any port on a loopback redirect (RFC 8252 §7.3). */
  readonly port?: number
  /** `/callback` if absent. */
  readonly path?: string
}

const page = '<!doctype html><title>Corral</title><p>You can close this window.</p>'

/** What a browser on its way back needs is far less. */
const maxHeaderBytes = 16 * 1024
const maxConnections = 32

/**
 * Listens on this machine for the browser's return from an authorization, for command lines. Only the answer with the
 * expected state ends the wait; whatever else comes is refused.
 */
export async function listenForRedirect(options: LoopbackOptions = {}): Promise<Redirect> {
  checkOptions('listenForRedirect', options, { port: 'number', path: 'string' })
  const { port: wanted = 0, path = '/callback' } = options
  const returned = createReturn()
  let port = wanted
  const server = createServer({ maxHeaderSize: maxHeaderBytes }, (request, response) => {
    const status = judge(request, { port, path, returned })
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', connection: 'close' })
    response.end(status === 200 ? page : '')
  })
  server.maxConnections = maxConnections
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(wanted, '127.0.0.1', resolve)
  })
  port = (server.address() as AddressInfo).port // a listening TCP server has one
  return {
    redirectUri: `http://127.0.0.1:${port}${path}`,
    expect: returned.expect,
    wait: returned.wait,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The answer that is waited for. */
interface Return extends Required<Pick<Redirect, 'expect' | 'wait'>> {
  /** Takes an answer; false where it is not the expected one. */
  take(url: URL): boolean
}

function createReturn(): Return {
  const returned = createDeferred<URL>()
  let expected: string | undefined
  /** Came before anyone said what is expected. */
  let early: URL | undefined
  let isAwaited = false

  function settle(): void {
    if (early && expected !== undefined && stateOf(early) !== expected) early = undefined
    if (early && (expected !== undefined || isAwaited)) returned.resolve(early)
  }

  return {
    expect(state) {
      expected = state
      settle()
    },
    wait(signal) {
      isAwaited = true
      settle()
      return withSignal(returned.promise, signal)
    },
    take(url) {
      const { searchParams } = url
      const isAnswer = searchParams.has('code') || searchParams.has('error')
      const state = stateOf(url)
      if (!isAnswer || state === null || (expected !== undefined && state !== expected))
        return false
      early ??= url
      settle()
      return true
    },
  }
}

function stateOf({ searchParams }: URL): string | null {
  return searchParams.get('state')
}

/** What a request is looked at with. */
interface Listening {
  readonly port: number
  readonly path: string
  readonly returned: Return
}

/** The status that a request is answered with. */
function judge(
  { method, url = '', headers }: IncomingMessage,
  { port, path, returned }: Listening,
): number {
  const names = ['127.0.0.1', 'localhost', '[::1]']
  // A page whose name was bound to this address has another host (DNS rebinding).
  if (!names.some((name) => headers.host === `${name}:${port}`)) return 421
  // `//host/` and whole URLs would name another place.
  if (!/^\/(?!\/)/.test(url)) return 400
  const found = readUrl(`http://127.0.0.1:${port}${url}`)
  if (!found) return 400
  if (found.pathname !== path) return 404
  if (method !== 'GET') return 405
  return returned.take(found) ? 200 : 400
}
