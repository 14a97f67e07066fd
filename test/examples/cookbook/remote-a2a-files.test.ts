import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serveFramer } from '../../../examples/cookbook/remote-a2a-files/remote.ts'
import { userMessage } from '../../../src/protocol/build.ts'
import { answerParts } from '../../../src/protocol/task.ts'
import { cook } from './recipe.ts'

test('a picture goes to an agent of the official SDK and comes back framed', async () => {
  vi.stubEnv('FRAMER_URL', await startFramer())
  const picture = { raw: base64('picture'), filename: 'sea.png', mediaType: 'image/png' }
  const message = userMessage([{ text: 'Frame this' }, picture])
  const run = await cook('remote-a2a-files', message)
  expect(answerParts(run.task)).toEqual([
    { text: 'In the catalogue: framed-sea.png (image/png)' },
    { raw: base64('[picture]'), filename: 'framed-sea.png', mediaType: 'image/png' },
  ])
  expect(run.delegations.map(({ member, answer }) => [member, answer])).toEqual([
    ['framer', 'Framed 1'],
    ['catalogue', 'In the catalogue: framed-sea.png (image/png)'],
  ])
})

async function startFramer(): Promise<string> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const server = serveFramer(port, url)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return url
}

/** Its card must say where it answers before it listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  server.close()
  await once(server, 'close')
  return port
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
