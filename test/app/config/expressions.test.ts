import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../../src/app/config/load.ts'
import { ConfigError } from '../../../src/app/config/locate.ts'
import { agents } from '../../team/two-agents.ts'

const head = `${agents}
[[teams]]
id = "t"
name = "T"
description = ""
mode = "workflow"
[[teams.agents]]
agent_id = "a"
[[teams.agents]]
agent_id = "b"
[[teams.scheduler_config.steps]]
name = "draft"
agent_id = "a"
[[teams.scheduler_config.steps]]
`

/** The steps in which ‸ marks the place of the fault. */
function faultAt(marked: string, env = {}): { readonly place: string; readonly said: string } {
  const before = head + marked.slice(0, marked.indexOf('‸'))
  const lines = before.split('\n')
  const place = `corral.toml:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}: `
  try {
    parseConfig(head + marked.replace('‸', ''), { env })
  } catch (error) {
    if (error instanceof ConfigError) return { place, said: error.message }
    throw error
  }
  throw new Error('it is a file')
}

describe('an expression of a file is told with line and column', () => {
  test.each([
    [
      'agent_id = "b"\nwhen = "‸steps.drfat.text == \'\'"',
      'no step drfat before this one (did you mean draft?)',
    ],
    [
      "agent_id = 'b'\nwhen = '‸steps.later.text'\n[[teams.scheduler_config.steps]]\nname = 'later'\nagent_id = 'a'",
      'no step later before this one',
    ],
    ['agent_id = "b"\nwhen = "previous.text == \\"a\\" && ‸nothing"', 'nothing is not known here'],
    ["agent_id = 'b'\nwhen = 'previous.text == \"a\" && ‸nothing'", 'nothing is not known here'],
    [
      'agent_id = "b"\nwhen = """\nprevious.text == "a" &&\n  ‸nothing\n"""',
      'nothing is not known here',
    ],
    ["agent_id = 'b'\nwhen = '''\ntrue\n && ‸nothing'''", 'nothing is not known here'],
    ['agent_id = "b"\nwhen = """true && \\\n   ‸nothing"""', 'nothing is not known here'],
    ['agent_id = "b"\nwhen = "\\u0074rue && ‸nothing"', 'nothing is not known here'],
    ['agent_id = "b"\nwhen = "previous.text ‸= \'a\'"', 'unexpected character: ='],
    ['agent_id = "b"\nwhen = "‸previous.text"', 'it must be true or false, and is string'],
    ['agent_id = "b"\nwhen = "‸previous.text.matches(\'(a+)+$\')"', 'matches is not offered'],
    ['agent_id = "b"\nwhen = "‸item.id == 1"', 'only the steps of a map have an item'],
    [
      'agent_id = "b"\nwhen = "‸context[previous.text] == 1"',
      'values are named: write context.<key>',
    ],
    ['agent_id = "b"\ninput = "Improve {{ ‸steps.x.text }}"', 'no step x before this one'],
    [
      'agent_id = "b"\ninput = """\nImprove\n{{ previous }} and\n{{ ‸steps.x.text }}"""',
      'no step x before this one',
    ],
    ['agent_id = "b"\ninput = "Improve ‸{{ previous.text"', 'the braces {{ are not closed with }}'],
    ['branch = [{ when = "‸nothing", steps = [{ agent_id = "a" }] }]', 'nothing is not known here'],
    [
      'branch = [{ steps = [{ agent_id = "a", input = "{{ ‸nothing }}" }] }]',
      'nothing is not known here',
    ],
    ['parallel = [{ agent_id = "a" }]\njoin = "All: {{ ‸nothing }}"', 'nothing is not known here'],
    [
      'parallel = [{ agent_id = "a" }]\njoin = { agent_id = "b", input = "{{ ‸nothing }}" }',
      'nothing is not known here',
    ],
    [
      'loop = { until = "‸previous.txt == \'\'", max_iterations = 2, steps = [{ agent_id = "a" }] }',
      'it has text and data, not txt',
    ],
    ['map = { over = "‸question.text", agent_id = "a" }', 'it must be a list, and is string'],
    [
      'map = { agent_id = "a", input = "{{ item }} {{ ‸round }}" }',
      'only the steps of a loop have a round',
    ],
    ["agent_id = 'b'\nwhen = '\t‸nothing'", 'nothing is not known here'],
    ['agent_id = "b"\r\nwhen = """\r\ntrue &&\r\n ‸nothing"""', 'nothing is not known here'],
  ])('%s', (marked, words) => {
    const { place, said } = faultAt(marked)
    expect(said).toContain(place)
    expect(said).toContain(words)
    expect(said.split('\n')).toHaveLength(1)
  })

  test('behind variables, as it is written', () => {
    const env = { WORD: 'a rather long word' }
    const marked = `agent_id = "b"\nwhen = "previous.text == '\${WORD}' && ‸nothing"`
    const { place, said } = faultAt(marked, env)
    expect(said).toContain(place)
    const within = faultAt(`agent_id = "b"\nwhen = "true && ‸\${RULE}"`, { RULE: 'nothing' })
    expect(within.said).toContain(within.place)
  })

  test('names the key and what is wrong there', () => {
    expect(faultAt('agent_id = "b"\nwhen = "‸nothing"').said).toMatch(
      /: Team "t": when cannot be read: nothing is not known here \(known: .*\), at nothing$/,
    )
  })
})
