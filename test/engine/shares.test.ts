import { expect, test } from 'vitest'
import { PrincipalCache } from '../../src/engine/send.ts'
import { type Share, Shares, TurnQueue } from '../../src/engine/turn-queue.ts'

test('each principal has its own share, and nobody in particular has none', () => {
  const shares = new Shares()
  const ann = taken(shares, 'user ann')
  ann.turns = 1
  const bob = taken(shares, 'user bob')
  bob.turns = 1
  expect(shares.find('user ann')).toBe(ann)
  expect(shares.take('user bob')).toBe(bob)
  expect(bob).not.toBe(ann)
  expect(shares.take('')).toBeUndefined()
  expect(shares.find('')).toBeUndefined()
})

test('a share that holds nothing is forgotten once another is looked for', () => {
  const shares = new Shares()
  const ann = taken(shares, 'user ann')
  ann.bytes = 7
  const bob = taken(shares, 'user bob')
  bob.turns = 1
  expect(shares.find('user ann')).toBe(ann)
  ann.bytes = 0
  shares.tidy(ann)
  expect(shares.find('user ann')).toBe(ann)
  expect(shares.find('user bob')).toBe(bob)
  expect(shares.find('user ann')).toBeUndefined()
  expect(shares.take('user ann')).not.toBe(ann)
})

test('a share that is not the last one looked for is forgotten at once', () => {
  const shares = new Shares()
  const ann = taken(shares, 'user ann')
  ann.turns = 1
  shares.take('user bob')
  ann.turns = 0
  shares.tidy(ann)
  expect(shares.find('user ann')).toBeUndefined()
})

test('a turn that has left leaves nothing behind of its principal', () => {
  const queue = new TurnQueue({ slots: 4 })
  const enter = (principal: string) => queue.enter({ principal, contextId: 'c', start() {} })
  const first = enter('user ann')
  const { share } = first
  first.leave()
  enter('user bob')
  expect(enter('user ann').share).not.toBe(share)
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

function taken(shares: Shares, principal: string): Share {
  const share = shares.take(principal)
  if (!share) throw new Error(`${principal} has no share`)
  return share
}
