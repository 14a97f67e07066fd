import { expect, test } from 'vitest'
import { newId, newTimedId } from '../../src/shared/ids.ts'

test('ids are UUIDs of version 4, and never the same', () => {
  const ids = Array.from({ length: 2_000 }, newId)
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(ids).size).toBe(ids.length)
})

test('every digit but the version takes every value that it may', () => {
  const ids = Array.from({ length: 2_000 }, newId)
  const seen = (place: number): number => new Set(ids.map((id) => id[place])).size
  for (let place = 0; place < 36; place++) {
    const values = [8, 13, 18, 23, 14].includes(place) ? 1 : place === 19 ? 4 : 16
    expect(seen(place)).toBe(values)
  }
})

test('timed ids are UUIDs of version 7: they begin with the moment, and are never the same', () => {
  // No id is before one that was made earlier, so the moment is later than all that other tests may have used.
  const now = Date.UTC(2100, 0, 1, 0, 0, 0, 123)
  const ids = Array.from({ length: 2_000 }, () => newTimedId(now))
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(now)
  }
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.toSorted()).toEqual(ids)
  const last = newTimedId(now + 1)
  for (const earlier of [now, 0]) expect(newTimedId(earlier) > last).toBe(true)
})
