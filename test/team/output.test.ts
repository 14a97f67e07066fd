import { expect, test } from 'vitest'
import { createChannel } from '../../src/team/output.ts'

type Channel<T> = ReturnType<typeof createChannel<T>>

async function read<T>(channel: Channel<T>, heard: T[] = []): Promise<T[]> {
  for (let items = await channel.take(); items.length > 0; items = await channel.take())
    heard.push(...items)
  return heard
}

test('items come in order, those before the end included', async () => {
  const channel = createChannel<number>(10)
  void channel.push(1)
  void channel.push(2)
  const reading = read(channel)
  await channel.push(3)
  channel.close()
  expect(await reading).toEqual([1, 2, 3])
})

test('what waits is taken at once', async () => {
  const channel = createChannel<number>(10)
  void channel.push(1)
  void channel.push(2)
  expect(await channel.take()).toEqual([1, 2])
})

test('a failure comes after what was said before it', async () => {
  const channel = createChannel<number>(10)
  await channel.push(1)
  channel.fail(new Error('broken'))
  const heard: number[] = []
  await expect(read(channel, heard)).rejects.toThrow('broken')
  expect(heard).toEqual([1])
})

test('a failure wakes a reader who waits', async () => {
  const channel = createChannel<number>(10)
  const reading = read(channel)
  channel.fail(new Error('broken'))
  await expect(reading).rejects.toThrow('broken')
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
  expect(await channel.take()).toEqual([1, 2])
  await writing
  expect(written).toBe(true)
})

test('the first end counts, and what comes after it goes nowhere', async () => {
  const closed = createChannel<number>(10)
  closed.close()
  closed.fail(new Error('late'))
  await closed.push(1)
  expect(await closed.take()).toEqual([])
  const failed = createChannel<number>(10)
  failed.fail(new Error('broken'))
  failed.close()
  await expect(failed.take()).rejects.toThrow('broken')
})

test('a reader that leaves sets the writers free', async () => {
  const channel = createChannel<number>(1)
  const writing = channel.push(1)
  channel.close()
  await writing
  await channel.push(2)
})
