import { expect, test } from 'vitest'
import {
  type CellKey,
  cellNames,
  directions,
  type Found,
  isAsked,
  judge,
  renderMatrix,
} from '../../scripts/zoo/matrix.ts'

const run = { day: '2026-01-01', node: '22.0.0' }
const fault = { animal: 'ox', cells: ['called stream'], words: 'It does not stream.' } as const

/** A framework whose cells all pass, but for these. */
function found(failed: Partial<Record<CellKey, string>>): Found {
  const keys = directions.flatMap((direction) =>
    cellNames.filter((cell) => isAsked(direction, cell)).map((cell) => `${direction} ${cell}`),
  )
  const passed = Object.fromEntries(keys.map((key) => [key, null]))
  return { animal: 'ox', title: '`ox` 1.0.0', cells: { ...passed, ...failed } }
}

test('a failure that a fault explains is shown with its words and is no complaint', () => {
  const ox = found({ 'called stream': 'no events' })
  expect(judge([ox], [fault])).toEqual([])
  const matrix = renderMatrix([ox], [fault], run)
  expect(matrix).toContain('| `ox` 1.0.0 | Corral calls it | yes | **no** (1) | yes |')
  expect(matrix).toContain('1. It does not stream.')
})

test('a failure that nothing explains is a complaint, and so is a cell that did not run', () => {
  expect(judge([found({ 'served send': 'refused' })], [])).toEqual(['ox, served send: refused'])
  const { cells: _, ...ended } = found({})
  expect(judge([{ ...ended, cells: {} }], [])).toContain('ox, served send: was not run')
})

test('an explained cell that passes is a complaint', () => {
  expect(judge([found({})], [fault])).toEqual([
    'ox, called stream: passes, but faults.ts explains it',
  ])
})
