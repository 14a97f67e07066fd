import { expect, test } from 'vitest'
import { createChannel } from '../../src/team/channel.ts'

async function read<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

test('items come in order, those before the end included', async () => {
  const channel = createChannel<number>(10)
  void channel.push(1)
  void channel.push(2)
  const reading = read(channel.items())
  await channel.push(3)
  channel.close()
  expect(await reading).toEqual([1, 2, 3])
})

test('a failure comes after what was said before it', async () => {
  const channel = createChannel<number>(10)
  await channel.push(1)
  channel.fail(new Error('broken'))
  const heard: number[] = []
  const reading = (async () => {
    for await (const item of channel.items()) heard.push(item)
  })()
  await expect(reading).rejects.toThrow('broken')
  expect(heard).toEqual([1])
})

test('a full channel makes its writers wait until the reader takes', async () => {
  const channel = createChannel<number>(2)
  await channel.push(1)
  let written = false
  const writing = channel.push(2).then(() => {
    written = true
  })
  await Promise.resolve()
  expect(written).toBe(false)
  const items = channel.items()
  expect(await items.next()).toEqual({ value: 1, done: false })
  await writing
  expect(written).toBe(true)
})

test('a reader that leaves sets the writers free', async () => {
  const channel = createChannel<number>(1)
  const items = channel.items()
  const first = items.next()
  await channel.push(1)
  await first
  const writing = channel.push(2)
  await items.return()
  await writing
  await channel.push(3)
})
