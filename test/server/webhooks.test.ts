import { createHash } from 'node:crypto'
import { createLocalJWKSet, exportJWK, generateKeyPair, type JSONWebKeySet, jwtVerify } from 'jose'
import { afterEach, expect, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { createServer, listen } from '../../src/server/index.ts'
import type { PushOptions } from '../../src/server/options.ts'
import { createTokenSigner, verifyBody } from '../../src/webhooks/deliver.ts'
import { createReceiver, type Receiver } from '../webhooks/receiver.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Speaks in two chunks. */
const speaker: Agent = {
  info: () => ({ id: 'speaker', name: 'speaker', description: '', capabilities: [], metadata: {} }),
  async *process() {
    yield 'one '
    yield 'two'
  },
}

async function serve(options: PushOptions): Promise<{ url: string; receiver: Receiver }> {
  const receiver = await createReceiver()
  closing.push(receiver.close)
  const guard = { allow: ['127.0.0.1'], allowHttp: true }
  const server = await createServer({ agents: [speaker], pushNotifications: { guard, ...options } })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  closing.push(listening.close)
  return { url: `http://127.0.0.1:${listening.port}`, receiver }
}

async function post(url: string, method: string, params: object): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  expect(await response.json()).not.toHaveProperty('error')
}

test('a token with each webhook is checked against the keys that the server publishes', async () => {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const key = { ...(await exportJWK(privateKey)), alg: 'ES256' }
  const signer = await createTokenSigner({ issuer: 'https://corral.example', keys: [key] })
  const { url, receiver } = await serve({ signer })
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
  const configuration = { taskPushNotificationConfig: { url: receiver.url } }
  await post(url, 'SendMessage', { message, configuration })
  const [first] = await receiver.received(1)

  const reply = await fetch(`${url}/.well-known/jwks.json`)
  expect(reply.headers.get('content-type')).toBe('application/json')
  const keys = (await reply.json()) as JSONWebKeySet // as its media type says
  expect(JSON.stringify(keys)).not.toContain('"d"')
  const token = first?.headers.authorization?.replace('Bearer ', '') ?? ''
  const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
    issuer: 'https://corral.example',
    audience: receiver.url,
  })
  const digest = createHash('sha256')
    .update(first?.body ?? '')
    .digest('hex')
  expect(payload).toMatchObject({
    jti: first?.headers['x-a2a-event-id'],
    request_body_sha256: digest,
  })
})

test('a server that signs no tokens publishes no keys', async () => {
  const { url } = await serve({})
  expect((await fetch(`${url}/.well-known/jwks.json`)).status).toBe(404)
})

test('a shared secret signs the body of each webhook', async () => {
  const { url, receiver } = await serve({ secretFor: () => 'between us' })
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
  const configuration = { taskPushNotificationConfig: { url: receiver.url } }
  await post(url, 'SendMessage', { message, configuration })
  const [first] = await receiver.received(1)
  const header = String(first?.headers['x-a2a-signature'])
  const signed = { secret: 'between us', body: first?.body ?? '', now: Date.now(), header }
  expect(verifyBody(signed)).toBe(true)
  expect(verifyBody({ ...signed, secret: 'of another' })).toBe(false)
})

test('a webhook of RANCH hears only of the events that it names', async () => {
  const { url, receiver } = await serve({})
  const message = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }
  const pushNotificationConfig = { url: receiver.url, events: ['artifactAdded', 'completed'] }
  await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params: { message, configuration: { pushNotificationConfig } },
    }),
  })
  const requests = await receiver.received(3)
  const events = requests.map(({ body }) => JSON.parse(body).event)
  expect(events).toEqual(['artifactAdded', 'artifactAdded', 'completed'])
})

test('a webhook of 1.0 may name events as well', async () => {
  const { url, receiver } = await serve({})
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
  const configuration = { taskPushNotificationConfig: { url: receiver.url, events: ['completed'] } }
  await post(url, 'SendMessage', { message, configuration })
  const [only] = await receiver.received(1)
  expect(JSON.parse(only?.body ?? '').statusUpdate.status.state).toBe('TASK_STATE_COMPLETED')
})
