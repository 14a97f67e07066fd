import { expect, test } from 'vitest'
import { newId } from '../../src/shared/ids.ts'

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
