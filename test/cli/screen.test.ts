import { expect, test } from 'vitest'
import type { Screen } from '../../src/cli/screen.ts'
import type { Piece } from '../../src/cli/terminal/text.ts'
import { startSpinner } from '../../src/cli/transcript.ts'
import { createFakeClock } from '../../src/testing/index.ts'

const text = (piece: Piece): string => (typeof piece === 'string' ? piece : piece.text)

/** A screen that remembers what stood on it. */
function createScreen(isLively: boolean): { screen: Screen; stood: string[] } {
  const stood: string[] = []
  const screen: Screen = {
    ...{ isTTY: true, hasStyles: true, columns: 80, isLively },
    write: () => {},
    rewrite: () => {},
    stand: (...lines) => void stood.push(lines.map((line) => line.map(text).join('')).join('\n')),
  }
  return { screen, stood }
}

test('turns and counts the seconds while nothing comes, and goes without a trace', () => {
  const clock = createFakeClock()
  const { screen, stood } = createScreen(true)
  const spinner = startSpinner({ screen, clock, label: () => 'writer', above: () => [['tree']] })
  clock.advance(240)
  expect(stood).toEqual([])
  clock.advance(120)
  expect(stood).toEqual(['tree\n⠋ writer  0 s'])
  clock.advance(1_000)
  expect(stood.at(-1)).toMatch(/^tree\n\S writer {2}1 s$/)
  clock.advance(64_000)
  expect(stood.at(-1)).toMatch(/1 min 5 s$/)
  spinner.stop()
  expect(stood.at(-1)).toBe('')
  expect(clock.pending()).toEqual([])
})

test('is not in the way of what comes', () => {
  const clock = createFakeClock()
  const { screen, stood } = createScreen(true)
  const spinner = startSpinner({ screen, clock, label: () => 'writer' })
  for (let i = 0; i < 20; i++) {
    clock.advance(120)
    spinner.rest()
  }
  expect(stood).toEqual([])
  spinner.stop()
})

test('is not there where lines cannot be taken back', () => {
  const clock = createFakeClock()
  const { screen, stood } = createScreen(false)
  const spinner = startSpinner({ screen, clock, label: () => 'writer' })
  clock.advance(5_000)
  spinner.stop()
  expect(stood).toEqual([])
  expect(clock.pending()).toEqual([])
})
