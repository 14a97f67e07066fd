import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createStopCutter, cutAt } from '../../../src/bindings/openai/answer.ts'

test('a text in pieces is cut where the whole text is, however it comes', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 12 })
  const words = fc.array(
    letters.filter((word) => word !== ''),
    { minLength: 1, maxLength: 4 },
  )
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 8 }), words, (pieces, stops) => {
      const cutter = createStopCutter(stops)
      const told = pieces.map((piece) => cutter.take(piece)).join('') + cutter.end()
      expect(told).toBe(cutAt(stops, pieces.join('')))
      expect(stops.some((stop) => told.includes(stop))).toBe(false)
    }),
    { numRuns: 2000 },
  )
})

test('of two words that overlap the one that ends first cuts, in one piece or in several', () => {
  const stops = ['b\na', '\n']
  const cutter = createStopCutter(stops)
  expect(cutter.take('b\n') + cutter.take('a') + cutter.end()).toBe('b')
  expect(cutAt(stops, 'b\na')).toBe('b')
  expect(cutAt(['\na', 'b\na'], 'ab\na')).toBe('a')
})

test('only the end that may begin a word waits', () => {
  const cutter = createStopCutter(['END'])
  expect(cutter.take('one E')).toBe('one ')
  expect(cutter.take('N')).toBe('')
  expect(cutter.take('ORMOUS E')).toBe('ENORMOUS ')
  expect(cutter.end()).toBe('E')
})

test('nothing is told after the word', () => {
  const cutter = createStopCutter(['END'])
  expect(cutter.take('one EN')).toBe('one ')
  expect(cutter.take('D two')).toBe('')
  expect(cutter.take('three')).toBe('')
  expect(cutter.end()).toBe('')
})
