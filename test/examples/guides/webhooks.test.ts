import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { expect, onTestFinished, test, vi } from 'vitest'
import { A2AClient } from '../../../src/client/index.ts'
import { listen, type Server } from '../../../src/server/index.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { readDeadLetters } from '../../../src/store/index.ts'
import { temporary } from '../../cli/corral.ts'
import { patiently } from '../../support/limits.ts'
import { freePort } from '../../support/port.ts'
import { importProgram, runHere, serveFile, serveProgram } from './guide.ts'

test('a receiver gets every event of a task, from a server that allows its host', async () => {
  const hook = await serveProgram('webhooks/receiver.mjs')
  const AGENT_URL = await serveFile('webhooks/corral.toml')
  const env = { AGENT_URL, HOOK_URL: `${hook}/` }
  const [begun] = await runHere('webhooks/ask.mjs', { env })
  expect(begun).toMatch(/^TASK_STATE_/)
  const came = await vi.waitUntil(
    async () => {
      const text = await (await fetch(hook)).text()
      return text.includes('COMPLETED') && text.trim().split('\n')
    },
    { timeout: patiently(90_000) },
  )
  expect(came[0]).toMatch(/^task TASK_STATE_/)
  expect(came.at(-1)).toBe('statusUpdate TASK_STATE_COMPLETED')
  const forged = await fetch(hook, { method: 'POST', body: '{}' })
  expect(forged.status).toBe(401)
})

test('signed events are taken, and what a receiver refuses is found among the dead letters', async () => {
  const cwd = temporary()
  expect(await runHere('webhooks/signed.mjs', { cwd })).toEqual([
    'event task',
    'event statusUpdate',
    'event artifactUpdate',
    'event statusUpdate',
  ])
  const letters = await readDeadLetters(join(cwd, 'hooks.db'))
  expect(letters.map(({ reason }) => reason)).toEqual(Array(4).fill('HTTP 410'))
})

/** What the example exports. */
interface Tokens {
  serve(issuer: string, keys: readonly JWK[], guard: object): Promise<Server>
  createCheck(
    issuer: string,
    url: string,
  ): (headers: object, body: string) => Promise<{ readonly jti: string }>
}

test('a token of a key pair is checked by the published keys, for this body alone', async () => {
  const example = await importProgram<Tokens>('webhooks/token.mjs')
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const key = { ...(await exportJWK(privateKey)), alg: 'ES256' }
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const guard = { allow: ['127.0.0.1'], allowHttp: true }
  const server = await example.serve(issuer, [key], guard)
  const { close } = await listen(server, { port, host: '127.0.0.1' })
  onTestFinished(close)
  const { url, first } = await openReceiver()
  const client = new A2AClient(issuer)
  const configuration = { taskPushNotificationConfig: { url } }
  await client.run('Two chairs', { configuration })
  await client.close()
  const { headers, body } = await first
  const check = example.createCheck(issuer, url)
  expect((await check(headers, body)).jti).toBe(headers['x-a2a-event-id'])
  await expect(check(headers, `${body} `)).rejects.toThrow('another body')
  await expect(check({}, body)).rejects.toThrow()
})

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Takes whatever comes, and gives the first of it. */
async function openReceiver(): Promise<{ url: string; first: Promise<Received> }> {
  const came = createDeferred<Received>()
  const receiver = createHttpServer(async (request, response) => {
    came.resolve({ headers: request.headers, body: await text(request) })
    response.writeHead(204).end()
  })
  const port = await freePort()
  await new Promise<void>((resolve) => receiver.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => {
    receiver.closeAllConnections()
    receiver.close()
  })
  return { url: `http://127.0.0.1:${port}/hook`, first: came.promise }
}
