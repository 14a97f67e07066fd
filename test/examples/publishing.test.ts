import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { publishing } from '../../examples/publishing/workflow.ts'
import { runTeam, type TeamRun } from '../../src/testing/index.ts'

const file = join(import.meta.dirname, '../../examples/publishing/corral.toml')

/** What both ways must have in common: everything that the trace tells but when. */
function traceOf({ trace }: TeamRun): readonly unknown[] {
  return trace.map(({ seq: _seq, time: _time, durationMs: _ms, at: _at, ...entry }) => entry)
}

describe('the workflow in TypeScript and the one in the file', () => {
  test.each([
    ['a notice that does no harm', 'we have moved', []],
    ['one that is approved', 'new prices', ['yes']],
    ['one that is sent back', 'new prices', ['and say when', 'shorter', 'yes']],
    ['one that is refused', 'new prices', ['no']],
  ])('do the same with %s', async (_name, text, answers) => {
    const typed = await runTeam(publishing, text, { answers })
    const written = await runTeam(file, text, { answers })
    expect(typed.text).not.toBe('')
    expect([written.state, written.text, written.questions]).toEqual([
      typed.state,
      typed.text,
      typed.questions,
    ])
    expect(traceOf(written)).toEqual(traceOf(typed))
  })

  test('send a notice back with what the user says', async () => {
    const { text } = await runTeam(file, 'new prices', { answers: ['and say when', 'yes'] })
    expect(text).toBe('Published: Notice: new prices. (too loud and say when)')
  })
})
