import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findJson, jsonIn } from '../../src/shared/json.ts'

describe('JSON in text', () => {
  test('finds any JSON object that stands in prose without brackets', () => {
    const prose = fc.string().map((text) => text.replace(/[{}[\]"\\]/g, ''))
    fc.assert(
      fc.property(
        prose,
        fc.dictionary(fc.string(), fc.jsonValue()),
        prose,
        (before, value, after) => {
          const json = JSON.stringify(value)
          const [found] = findJson(`${before}${json}${after}`)
          expect(JSON.stringify(found?.value)).toBe(JSON.stringify(JSON.parse(json)))
          expect(found?.start).toBe(before.length)
          expect(found?.end).toBe(before.length + json.length)
        },
      ),
    )
  })

  test('is given up where brackets only open, however many there are', () => {
    expect(findJson('{'.repeat(1_000_000))).toEqual([])
  })
})

test('looks at a text of many fences no longer than at one without', () => {
  const open = `\`\`\`json\n${'['.repeat(2_500)}\n\`\`\`\n`
  const late = '```json\n{"late":1}\n```\n'
  expect(jsonIn(open.repeat(4) + late)).toContainEqual({ late: 1 })
  expect(jsonIn(open.repeat(40) + late)).toEqual([])
})
