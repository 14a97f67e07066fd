import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Redirect } from '../../src/client/auth/oauth.ts'
import { authorize } from '../../src/client/auth/oauth-flows.ts'
import { listenForRedirect } from '../../src/client/loopback.ts'
import { clients, startAuthorizationServer } from './authorization-server.ts'
import { signIn } from './browser.ts'

async function openListener(): Promise<{ redirect: Redirect; port: number }> {
  const redirect = await listenForRedirect()
  onTestFinished(() => redirect.close())
  return { redirect, port: Number(new URL(redirect.redirectUri).port) }
}

/** Sends bytes as they are and gives back the status line, or nothing where the connection was just closed. */
function sendRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (data) => {
      answer += data
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer.split('\r\n')[0] ?? ''))
  })
}

function requestTo(port: number, target: string, options: { method?: string; host?: string } = {}) {
  const { method = 'GET', host = `127.0.0.1:${port}` } = options
  return sendRaw(port, `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
}

const genuine = '/callback?code=c&state=mine'

describe('the listener for the browser goes on waiting after', () => {
  test.each([
    ['a path of two slashes', '//', 400],
    ['a path that names another host', '//evil.example/callback?code=c&state=mine', 400],
    ['a whole URL', 'http://evil.example/callback?code=c&state=mine', 400],
    ['a path that no URL can have', '//[/', 400],
    ['an asterisk', '*', 400],
    ['another path', '/favicon.ico', 404],
    ['a callback without state', '/callback?code=c', 400],
    ['a callback without an answer', '/callback?state=mine', 400],
    ['a callback with the state of somebody else', '/callback?code=c&state=other', 400],
    ['a refusal with the state of somebody else', '/callback?error=access_denied&state=x', 400],
  ])('%s', async (_what, target, status) => {
    const { redirect, port } = await openListener()
    redirect.expect?.('mine')
    const returned = redirect.wait()
    expect(await requestTo(port, target)).toContain(` ${status} `)
    expect(await requestTo(port, genuine)).toContain(' 200 ')
    expect((await returned).search).toBe('?code=c&state=mine')
  })

  test.each(['POST', 'HEAD', 'PUT', 'OPTIONS'])('a callback by %s', async (method) => {
    const { redirect, port } = await openListener()
    redirect.expect?.('mine')
    expect(await requestTo(port, genuine, { method })).toContain(' 405 ')
    expect(await requestTo(port, genuine)).toContain(' 200 ')
    await redirect.wait()
  })

  test.each([
    'evil.example',
    'evil.example:80',
    '127.0.0.1',
    '127.0.0.1:1',
    '127.0.0.1.evil.example',
  ])('a callback for the host %s', async (host) => {
    const { redirect, port } = await openListener()
    redirect.expect?.('mine')
    expect(await requestTo(port, genuine, { host })).toContain(' 421 ')
    expect(await requestTo(port, genuine, { host: `localhost:${port}` })).toContain(' 200 ')
    await redirect.wait()
  })

  test.each([
    ['what is no HTTP', 'hello\r\n\r\n'],
    ['a header without end', `GET / HTTP/1.1\r\nx: ${'x'.repeat(40_000)}`],
    ['a path without end', `GET /${'x'.repeat(40_000)}`],
  ])('%s', async (_what, bytes) => {
    const { redirect, port } = await openListener()
    redirect.expect?.('mine')
    expect(await sendRaw(port, bytes)).toMatch(/ 4\d\d /)
    expect(await requestTo(port, genuine)).toContain(' 200 ')
    await redirect.wait()
  })

  test('a callback that came before anyone knew the state', async () => {
    const { redirect, port } = await openListener()
    await requestTo(port, '/callback?code=c&state=guess')
    redirect.expect?.('mine')
    const returned = redirect.wait()
    await requestTo(port, genuine)
    expect((await returned).searchParams.get('state')).toBe('mine')
  })
})

test('a listener that is told of no state takes the first answer, whenever it is asked for', async () => {
  const { redirect, port } = await openListener()
  await requestTo(port, '/callback?code=c&state=any')
  expect((await redirect.wait()).search).toBe('?code=c&state=any')
})

test('a login survives a foreign callback', async () => {
  const server = await startAuthorizationServer()
  const config = { ...clients.commandLine, issuer: server.issuer, scopes: ['agents'] }
  const tokens = await authorize(
    { ...config, allowInsecure: true },
    {
      listen: async () => {
        const redirect = await listenForRedirect()
        await fetch(`${redirect.redirectUri}?code=stolen&state=early`)
        return redirect
      },
      open: async (url) => {
        const back = new URL(url).searchParams.get('redirect_uri') ?? ''
        expect((await fetch(`${back}?code=stolen&state=guess`)).status).toBe(400)
        expect((await fetch(`${back}?error=access_denied`)).status).toBe(400)
        await signIn(url, { login: 'ada', password: 'x' }, (at) => at.pathname === '/callback')
      },
    },
  )
  expect(tokens.accessToken).toMatch(/.{20,}/)
})
