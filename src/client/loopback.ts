import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createDeferred, withSignal } from '../shared/async.ts'
import type { Redirect } from './oauth/config.ts'

/** Where to listen for the browser. */
export interface LoopbackOptions {
  /** 0, the default, takes a free port; servers must allow any port on a loopback redirect (RFC 8252 §7.3). */
  readonly port?: number
  /** `/callback` if absent. */
  readonly path?: string
}

const page = '<!doctype html><title>Corral</title><p>You can close this window.</p>'

/** Listens on this machine for the browser's return from an authorization, for command lines. */
export async function listenForRedirect(options: LoopbackOptions = {}): Promise<Redirect> {
  const { port = 0, path = '/callback' } = options
  const returned = createDeferred<URL>()
  let origin = ''
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', origin)
    const found = request.method === 'GET' && url.pathname === path
    response.writeHead(found ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' })
    response.end(found ? page : '')
    if (found) returned.resolve(url)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // a listening TCP server has one
  return {
    redirectUri: `${origin}${path}`,
    wait: (signal) => withSignal(returned.promise, signal),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
