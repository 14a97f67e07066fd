import { expect, test } from 'vitest'
import { createShareNames } from '../../src/engine/arrived.ts'
import { Shares } from '../../src/engine/shares.ts'

test('each principal has its own share, and nobody in particular has none', () => {
  const shares = new Shares()
  const ann = shares.take('user ann')
  const bob = shares.take('user bob')
  expect(shares.find('user ann')).toBe(ann)
  expect(shares.take('user bob')).toBe(bob)
  expect(bob).not.toBe(ann)
  expect(shares.take('')).toBeUndefined()
  expect(shares.find('')).toBeUndefined()
})

test('a share that holds nothing is forgotten, and its principal begins anew', () => {
  const shares = new Shares()
  const share = shares.take('user ann')
  if (!share) throw new Error('There is a share')
  share.bytes = 7
  shares.tidy(share)
  expect(shares.find('user ann')).toBe(share)
  share.bytes = 0
  shares.tidy(share)
  expect(shares.find('user ann')).toBeUndefined()
  expect(shares.take('user ann')).not.toBe(share)
})

test('a call is named after its own user or address, whoever called before', () => {
  const nameOf = createShareNames()
  const calls = [
    [{ client: '10.0.0.1' }, 'address 10.0.0.1'],
    [{ client: '10.0.0.1', auth: { userId: 'ann' } }, 'user ann'],
    [{ client: '10.0.0.2', auth: { userId: 'ann' } }, 'user ann'],
    [{ client: '10.0.0.2' }, 'address 10.0.0.2'],
    [{}, ''],
    [{ client: '10.0.0.1', auth: { userId: '' } }, 'address 10.0.0.1'],
  ] as const
  for (const [call, name] of [...calls, ...calls.toReversed()]) expect(nameOf(call)).toBe(name)
})
