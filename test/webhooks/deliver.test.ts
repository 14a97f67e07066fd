import { createHash, generateKeyPairSync } from 'node:crypto'
import { createLocalJWKSet, type JWK, jwtVerify } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createGuard, type Guard } from '../../src/network/guard.ts'
import type { TaskPushNotificationConfig } from '../../src/protocol/types.ts'
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts'
import {
  createDeliver,
  createTokenSigner,
  type Deliver,
  verifyBody,
} from '../../src/webhooks/deliver.ts'
import { createReceiver, type Receiver } from './receiver.ts'

let receiver: Receiver
let clock: FakeClock
let guard: Guard
const idle = new AbortController().signal
const delivered = { kind: 'delivered' }

beforeEach(async () => {
  receiver = await createReceiver()
  clock = createFakeClock()
  guard = createGuard({ allow: ['127.0.0.1'], allowHttp: true })
})
afterEach(async () => {
  await guard.close()
  await receiver.close()
})

function delivery(config: Partial<TaskPushNotificationConfig> = {}): Parameters<Deliver>[0] {
  return {
    record: {
      taskId: 'task/1',
      id: 'h',
      config: { url: receiver.url, ...config },
      dialect: '1.0',
      cursor: 0,
      agent: 'a',
    },
    seq: 7,
    payload: { contentType: 'application/a2a+json', body: '{"statusUpdate":{"text":"ü"}}' },
  }
}

const deliver: Deliver = (item, signal) => createDeliver({ guard, clock })(item, signal)

describe('a delivery', () => {
  test('G012 posts the payload with its media type and a stable event id', async () => {
    expect(await deliver(delivery(), idle)).toEqual(delivered)
    expect(await deliver(delivery(), idle)).toEqual(delivered)
    const [first, second] = receiver.requests
    expect(first?.body).toBe('{"statusUpdate":{"text":"ü"}}')
    expect(first?.headers['content-type']).toBe('application/a2a+json')
    expect(first?.headers['x-a2a-event-id']).toBe('task%2F1:7')
    expect(second?.headers['x-a2a-event-id']).toBe('task%2F1:7')
    expect(first?.headers).not.toHaveProperty('authorization')
    expect(first?.headers).not.toHaveProperty('x-a2a-notification-token')
    expect(first?.headers).not.toHaveProperty('x-a2a-signature')
  })

  test('uses the connection of the one before again, whatever the receiver answers with', async () => {
    receiver.answer = (_request, response) => {
      const [status, text] = [
        [200, 500, 404, 204][receiver.requests.length % 4] ?? 200,
        'ok '.repeat(2_000),
      ]
      response.writeHead(status).end(status === 204 ? undefined : text)
    }
    for (let count = 1; count <= 12; count++) await deliver(delivery(), idle)
    expect(receiver.requests).toHaveLength(12)
    expect(receiver.connections).toBeLessThanOrEqual(2)
  })

  test('leaves a receiver that answers without end, and its connection', async () => {
    receiver.answer = (_request, response) => {
      response.writeHead(200)
      const more = (): void => void (response.destroyed || response.write('x'.repeat(8_192), more))
      more()
    }
    expect(await deliver(delivery(), idle)).toEqual(delivered)
    expect(await deliver(delivery(), idle)).toEqual(delivered)
    expect(receiver.connections).toBeGreaterThan(1)
  })

  test('G010 carries Authorization by the scheme, and the token beside it', async () => {
    const authentication = { scheme: 'Bearer', credentials: 'secret' }
    await deliver(delivery({ authentication, token: 'tok' }), idle)
    expect(receiver.requests[0]?.headers.authorization).toBe('Bearer secret')
    expect(receiver.requests[0]?.headers['x-a2a-notification-token']).toBe('tok')
  })

  test('R-22 signs time and body with the secret of the config', async () => {
    const signing = createDeliver({ guard, clock, secretFor: ({ id }) => `secret of ${id}` })
    await signing(delivery(), idle)
    const { headers, body } = receiver.requests[0] ?? expect.unreachable()
    const header = String(headers['x-a2a-signature'])
    const verification = { secret: 'secret of h', header, body, now: clock.now() }
    expect(verifyBody(verification)).toBe(true)
    expect(verifyBody({ ...verification, body: `${body} ` })).toBe(false)
  })

  test('signs a JWT that the published keys verify, bound to the body', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const key: JWK = { ...(privateKey.export({ format: 'jwk' }) as JWK), alg: 'ES256' } // an EC key's JWK
    const signer = await createTokenSigner({ issuer: 'https://corral.example', keys: [key] })
    const signing = createDeliver({ guard, clock, signer })
    await signing(delivery(), idle)
    await signing(delivery({ authentication: { scheme: 'bearer' } }), idle)
    for (const { headers, body } of receiver.requests) {
      const token = headers.authorization?.replace('Bearer ', '') ?? ''
      const { payload } = await jwtVerify(token, createLocalJWKSet(signer.jwks()), {
        issuer: 'https://corral.example',
        audience: receiver.url,
        currentDate: new Date(clock.now()),
      })
      const digest = createHash('sha256').update(body).digest('hex')
      expect(payload).toMatchObject({
        jti: 'task%2F1:7',
        taskId: 'task/1',
        request_body_sha256: digest,
      })
    }
  })

  test('prefers the credentials of the config to a JWT, and sends none in a foreign scheme', async () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const key: JWK = { ...(privateKey.export({ format: 'jwk' }) as JWK), alg: 'EdDSA' } // an Ed25519 key's JWK
    const signer = await createTokenSigner({ issuer: 'https://corral.example', keys: [key] })
    const signing = createDeliver({ guard, clock, signer })
    await signing(delivery({ authentication: { scheme: 'Basic', credentials: 'dTpw' } }), idle)
    await signing(delivery({ authentication: { scheme: 'Basic' } }), idle)
    expect(receiver.requests[0]?.headers.authorization).toBe('Basic dTpw')
    expect(receiver.requests[1]?.headers).not.toHaveProperty('authorization')
  })

  test.each([200, 201, 202, 204, 299])('takes %i for a delivery', async (code) => {
    receiver.answer = (_request, response) => void response.writeHead(code).end()
    expect(await deliver(delivery(), idle)).toEqual(delivered)
  })

  test.each([408, 425, 429, 500, 502, 503, 504])('G014 may try again after %i', async (code) => {
    receiver.answer = (_request, response) => void response.writeHead(code).end('no')
    expect(await deliver(delivery(), idle)).toEqual({ kind: 'retry', reason: `HTTP ${code}` })
  })

  test.each([400, 401, 403, 404, 410, 413, 422])('A-W4 takes %i as final', async (code) => {
    receiver.answer = (_request, response) => void response.writeHead(code).end()
    expect(await deliver(delivery(), idle)).toEqual({ kind: 'refused', reason: `HTTP ${code}` })
  })

  test.each([
    ['120', 120_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ])('reads Retry-After: %s', async (value, afterMs) => {
    receiver.answer = (_request, response) =>
      void response.writeHead(429, { 'retry-after': value }).end()
    expect(await deliver(delivery(), idle)).toMatchObject({ kind: 'retry', afterMs })
  })

  test('passes over a Retry-After that says nothing', async () => {
    receiver.answer = (_request, response) =>
      void response.writeHead(503, { 'retry-after': 'soon' }).end()
    expect(await deliver(delivery(), idle)).toEqual({ kind: 'retry', reason: 'HTTP 503' })
  })

  test.each([301, 302, 303, 307, 308])('K012 does not follow a redirect (%i)', async (code) => {
    const target = await createReceiver()
    receiver.answer = (_request, response) =>
      void response.writeHead(code, { location: target.url }).end()
    expect(await deliver(delivery(), idle)).toMatchObject({ kind: 'refused' })
    expect(target.requests).toHaveLength(0)
    await target.close()
  })

  test('K012 refuses a name that resolves to loopback when it is dialled', async () => {
    const rebinding = createGuard({
      allowHttp: true,
      lookup: (_hostname, _options, callback) =>
        callback(null, [{ address: '127.0.0.1', family: 4 }]),
    })
    const url = `http://hooks.example.com:${receiver.port}/`
    const outcome = await createDeliver({ guard: rebinding, clock })(delivery({ url }), idle)
    expect(outcome).toEqual({
      kind: 'refused',
      reason: 'url must not point to an internal address',
    })
    expect(receiver.requests).toHaveLength(0)
    await rebinding.close()
  })

  test('refuses a stored URL that the guard no longer lets through', async () => {
    const url = 'http://10.0.0.1/'
    expect(await deliver(delivery({ url }), idle)).toMatchObject({ kind: 'refused' })
  })

  test('G013 gives up an attempt after 15 seconds', async () => {
    receiver.answer = () => {}
    const attempt = deliver(delivery(), idle)
    await receiver.received(1)
    expect(clock.pending()).toEqual([15_000])
    clock.advance(15_000)
    expect(await attempt).toEqual({ kind: 'retry', reason: 'timeout', isTimeout: true })
    expect(clock.pending()).toEqual([])
  })

  test('believes the status, be the body long, endless or broken off', async () => {
    receiver.answer = (_request, response) => void response.end('x'.repeat(1_000_000))
    expect(await deliver(delivery(), idle)).toEqual(delivered)
    receiver.answer = (_request, response) => void response.write('x'.repeat(20_000))
    expect(await deliver(delivery(), idle)).toEqual(delivered)
    receiver.answer = (_request, response) => {
      response.writeHead(200, { 'content-length': 9 })
      response.write('half', () => response.destroy())
    }
    expect(await deliver(delivery(), idle)).toEqual(delivered)
  })

  test('may try again when nobody listens or the connection breaks', async () => {
    receiver.answer = (_request, response) => void response.destroy()
    expect(await deliver(delivery(), idle)).toMatchObject({ kind: 'retry' })
    await receiver.close()
    expect(await deliver(delivery(), idle)).toEqual({
      kind: 'retry',
      reason: 'No connection (ECONNREFUSED)',
    })
  })

  test('rejects with the reason of the signal, before and while it is under way', async () => {
    await expect(deliver(delivery(), AbortSignal.abort('gone'))).rejects.toBe('gone')
    receiver.answer = () => {}
    const controller = new AbortController()
    const attempt = deliver(delivery(), controller.signal)
    await receiver.received(1)
    controller.abort('gone')
    await expect(attempt).rejects.toBe('gone')
    expect(clock.pending()).toEqual([])
  })

  test('takes a config that makes no valid request as final', async () => {
    expect(await deliver(delivery({ token: 'a\nb' }), idle)).toEqual({
      kind: 'refused',
      reason: 'The config makes no valid request',
    })
  })
})
