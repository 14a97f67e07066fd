import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { toNodeHandler } from '../../src/server/index.ts'
import { silent } from '../../src/shared/log.ts'

/** Chunks in bursts: each list in one tick, with a pause between two of them. */
async function* inBursts(bursts: readonly (readonly string[])[]): AsyncGenerator<string> {
  for (const burst of bursts) {
    yield* burst
    if (burst !== bursts.at(-1)) await new Promise((resolve) => setImmediate(resolve))
  }
}

test.each([
  [[['one']]],
  [[['one', 'two']]],
  [[['one'], ['two']]],
  [[['one'], ['two', 'three'], ['four', 'five']]],
  [[['one'], []]],
])('a stream that ends in the tick of its last chunk arrives whole: %j', async (bursts) => {
  const handle = () => ({
    status: 200,
    headers: { 'content-type': 'text/plain' },
    body: inBursts(bursts),
  })
  const server = createServer(toNodeHandler(handle, { maxBodyBytes: 1000, logger: silent }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo // a listening TCP server has one
    for (let i = 0; i < 3; i++) {
      const response = await fetch(`http://127.0.0.1:${port}/`)
      expect(await response.text()).toBe(bursts.flat().join(''))
    }
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
