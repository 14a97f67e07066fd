import { expect, test } from 'vitest'
import { pace } from '../../../src/server/node/connections.ts'
import { myTurn } from '../../../src/shared/async.ts'

/** Holds the event loop for so long. */
function hold(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

const iteration = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** As the server begins a request: at once or later. */
function beginRequest(begin: () => void): void {
  if (pace.mayBegin()) begin()
  else pace.later(begin)
}

/** A connection has come, in an earlier iteration, and nothing waits for others. */
async function watch(): Promise<void> {
  pace.connectionAccepted()
  do await iteration()
  while (!pace.mayBegin())
  await iteration()
}

test('requests begin for 5 ms of an iteration, and the others in the next ones, in their order', async () => {
  await watch()
  const begun: string[] = []
  const request = (name: string) => (): void => {
    begun.push(name)
    hold(6)
  }
  for (const name of ['a', 'b', 'c']) beginRequest(request(name))
  expect(begun).toEqual(['a'])
  await iteration()
  expect(begun).toEqual(['a', 'b'])
  await iteration()
  expect(begun).toEqual(['a', 'b', 'c'])
  beginRequest(request('d'))
  while (begun.length < 4) await iteration()
  expect(begun).toEqual(['a', 'b', 'c', 'd'])
})

test('after a long iteration requests and long work wait while connections come, but not for ever', async () => {
  const isDeferred = async (): Promise<boolean> => {
    beginRequest(() => hold(12))
    pace.connectionAccepted()
    await iteration()
    const done: string[] = []
    beginRequest(() => done.push('request'))
    void myTurn().then(() => done.push('long work'))
    const atOnce = [...done]
    while (done.length < 2) {
      pace.connectionAccepted()
      await iteration()
    }
    return atOnce.length === 0
  }
  const deferred: boolean[] = []
  for (let i = 0; i < 5; i++) deferred.push(await isDeferred())
  expect(deferred).toContain(true)

  // Without connections nothing waits, however long an iteration was.
  await iteration()
  await iteration()
  beginRequest(() => hold(12))
  await iteration()
  const done: string[] = []
  beginRequest(() => done.push('request'))
  expect(done).toEqual(['request'])
})

test('a second after the last connection requests begin whatever the iteration has taken', async () => {
  pace.connectionAccepted()
  const isLimited = async (): Promise<boolean> => {
    await iteration()
    beginRequest(() => hold(6))
    let isBegun = false
    beginRequest(() => {
      isBegun = true
    })
    const waited = !isBegun
    while (!isBegun) await iteration()
    return waited
  }
  expect(await isLimited()).toBe(true)
  await expect.poll(isLimited).toBe(false)
  expect(await isLimited()).toBe(false)
  pace.connectionAccepted()
  expect(await isLimited()).toBe(true)
})
