import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Registry } from '../../src/shared/registry.ts'

const steps = fc.array(
  fc.tuple(
    fc.constantFrom('set', 'delete', 'clear'),
    fc.oneof(fc.constantFrom('a', 'b', 'ba', ''), fc.string({ maxLength: 8 }), fc.uuid()),
    fc.nat(),
  ),
  { maxLength: 200 },
)

test('a registry holds what a Map holds, whatever was done to it', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const registry = new Registry<number>()
      const map = new Map<string, number>()
      for (const [step, id, value] of all) {
        if (step === 'set') {
          registry.set(id, value)
          map.set(id, value)
        } else if (step === 'delete') {
          registry.delete(id)
          map.delete(id)
        } else if (value % 10 === 0) {
          registry.clear()
          map.clear()
        }
        expect(registry.get(id)).toBe(map.get(id))
        expect(registry.has(id)).toBe(map.has(id))
        expect(registry.size).toBe(map.size)
      }
      expect([...registry.values()].sort()).toEqual([...map.values()].sort())
    }),
  )
})

test('ten thousand entries are all found, and all gone when they are deleted', () => {
  const registry = new Registry<number>()
  const ids = Array.from({ length: 10_000 }, () => crypto.randomUUID())
  for (const [i, id] of ids.entries()) registry.set(id, i)
  for (const [i, id] of ids.entries()) expect(registry.get(id)).toBe(i)
  for (const id of ids) registry.delete(id)
  expect(registry.size).toBe(0)
  expect([...registry.values()]).toEqual([])
})
