import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  compareShape,
  compareWalks,
  readRatchet,
  recordShape,
  recordWalks,
  sizeTable,
  writeRatchet,
} from '../../../scripts/check/ratchet.ts'

const size = { folders: { engine: { files: 2, lines: 100 } } }

test('a number that rises is an error that names what makes it up', () => {
  const measured = { bannedWords: { value: 2, items: ['a.ts:1: nobody', 'b.ts:1: told'] } }
  expect(compareShape({ bannedWords: 1 }, measured)).toEqual({
    risen: ['bannedWords rose from 1 to 2:', '  a.ts:1: nobody', '  b.ts:1: told'],
    fallen: [],
    unknown: [],
  })
})

test('a number that falls is named, and one that stays is not', () => {
  const measured = { longFunctions: { value: 1, items: [] }, bannedWords: { value: 2, items: [] } }
  expect(compareShape({ longFunctions: 3, bannedWords: 2 }, measured)).toEqual({
    risen: [],
    fallen: ['longFunctions fell from 3 to 1'],
    unknown: [],
  })
})

test('a number that the record does not have is named', () => {
  expect(compareShape({}, { longFunctions: { value: 3, items: [] } }).unknown).toEqual([
    'longFunctions is 3 and not recorded',
  ])
})

test('a number may rise up to its goal', () => {
  const longest = (value: number) => ({ longestFile: { value, goal: 600, items: ['a.ts'] } })
  expect(compareShape({ longestFile: 384 }, longest(600)).risen).toEqual([])
  expect(compareShape({ longestFile: 384 }, longest(601)).risen).toHaveLength(2)
})

test('a walk may rise by two in a hundred', () => {
  const walk = (hops: number) => ({ message: { files: 84, calls: 900, hops, returns: 297 } })
  expect(compareWalks(walk(400), walk(408))).toEqual({ risen: [], fallen: [], unknown: [] })
  expect(compareWalks(walk(400), walk(409)).risen).toEqual(['message: hops rose from 400 to 409'])
  expect(compareWalks(walk(400), walk(399)).fallen).toEqual(['message: hops fell from 400 to 399'])
  expect(compareWalks({}, walk(400)).unknown).toHaveLength(3)
})

test('a walk over two replicas may differ by six in a hundred, both ways', () => {
  const walk = (hops: number) => ({ forwarded: { files: 111, hops, returns: 900 } })
  const same = { risen: [], fallen: [], unknown: [] }
  expect(compareWalks(walk(1000), walk(1060))).toEqual(same)
  expect(compareWalks(walk(1000), walk(940))).toEqual(same)
  expect(compareWalks(walk(1000), walk(1061)).risen).toHaveLength(1)
  expect(compareWalks(walk(1000), walk(939)).fallen).toHaveLength(1)
})

test('what is recorded is read again, and walks only fall', () => {
  const root = mkdtempSync(join(tmpdir(), 'corral-ratchet-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'scripts/check'), { recursive: true })
  const before = { ...readRatchet(root), reasons: ['a feature'.repeat(20)] }
  const shape = { bannedWords: { value: 2, items: [] } }
  const walks = { message: { files: 3, hops: 9 }, team: { files: 5, hops: 6 } }
  writeRatchet(root, recordWalks(recordShape(before, shape, size), walks))
  const read = readRatchet(root)
  expect(read).toEqual({ shape: { bannedWords: 2 }, size, walks, reasons: before.reasons })
  expect(recordWalks(read, { message: { files: 4, hops: 8 } }).walks).toEqual({
    message: { files: 3, hops: 8 },
    team: { files: 5, hops: 6 },
  })
})

test('the table of sizes shows what is added', () => {
  const now = { folders: { engine: { files: 3, lines: 90 } } }
  expect(sizeTable(size, now).split('\n').slice(1)).toEqual([
    'engine           3 +1          90 -10',
    'all              3 +1          90 -10',
  ])
})
