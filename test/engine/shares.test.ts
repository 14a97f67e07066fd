import { expect, test } from 'vitest'
import { PrincipalCache } from '../../src/engine/send.ts'
import { TurnQueue } from '../../src/engine/turn-queue.ts'

/** A queue, and what enters it. */
function createScene() {
  const queue = new TurnQueue({ slots: 4 })
  return {
    queue,
    enter: (principal: string) => queue.enter({ principal, contextId: 'c', start() {} }),
  }
}

test('each principal has its own share, and nobody in particular has none', () => {
  const { enter } = createScene()
  const ann = enter('user ann')
  const bob = enter('user bob')
  expect(ann.share).toBeDefined()
  expect(enter('user ann').share).toBe(ann.share)
  expect(enter('user bob').share).toBe(bob.share)
  expect(bob.share).not.toBe(ann.share)
  expect(enter('').share).toBeUndefined()
})

test('a share that holds nothing is forgotten once another is looked for', () => {
  const { queue, enter } = createScene()
  const message = { principal: 'user ann', bytes: 7 }
  queue.hold(message)
  const first = enter('user ann')
  first.leave()
  enter('user bob')
  const second = enter('user ann')
  expect(second.share).toBe(first.share)
  second.leave()
  queue.release(message)
  const third = enter('user ann')
  expect(third.share).toBe(first.share)
  third.leave()
  enter('user bob')
  expect(enter('user ann').share).not.toBe(first.share)
})

test('a share that is not the last one looked for is forgotten at once', () => {
  const { enter } = createScene()
  const first = enter('user ann')
  enter('user bob')
  first.leave()
  expect(enter('user ann').share).not.toBe(first.share)
})

test('a turn that has left leaves nothing behind of its principal', () => {
  const { enter } = createScene()
  const first = enter('user ann')
  first.leave()
  enter('user bob')
  expect(enter('user ann').share).not.toBe(first.share)
})

test('a call is named after its own user or address, whoever called before', () => {
  const principals = new PrincipalCache()
  const calls = [
    [{ client: '10.0.0.1' }, 'address 10.0.0.1'],
    [{ client: '10.0.0.1', auth: { userId: 'ann' } }, 'user ann'],
    [{ client: '10.0.0.2', auth: { userId: 'ann' } }, 'user ann'],
    [{ client: '10.0.0.2' }, 'address 10.0.0.2'],
    [{}, ''],
    [{ client: '10.0.0.1', auth: { userId: '' } }, 'address 10.0.0.1'],
  ] as const
  for (const [call, name] of [...calls, ...calls.toReversed()])
    expect(principals.of(call)).toBe(name)
})
