import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { answers, holderOf } from '../../../scripts/follow/port.ts'

test.runIf(process.platform === 'linux')('who holds a port is named', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  expect(await answers(port)).toBe(true)
  expect(holderOf(port)).toMatch(new RegExp(`^process ${process.pid} \\(.*node`))
  await new Promise((resolve) => server.close(resolve))
  expect(await answers(port)).toBe(false)
})
