import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig, parseConfig } from '../../../src/app/config/load.ts'
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
`
const line = head.split('\n').length

function stepsOf(text: string): unknown {
  const scheduler = parseConfig(head + text).teams[0]?.scheduler
  return scheduler?.type === 'workflow' ? scheduler.steps : undefined
}

function problemOf(text: string): string {
  try {
    parseConfig(head + text)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
  }
  return 'it is a file'
}

describe('the steps of a file', () => {
  test('have the names of the code in snake case', () => {
    expect(
      stepsOf(`name = "draft"
agent_id = "a"
input = "Write: {{ question.text }}"
output_schema = { type = "object", properties = { score = { type = "number" } } }
max_output_retries = 1
max_retries = 2

[[teams.scheduler_config.steps]]
when = "steps.draft.data.score < 0.8"
parallel = [{ agent_id = "a" }, { agent_id = "b" }]
join = { agent_id = "b", input = "Join: {{ previous.text }}", timeout_seconds = 3 }

[[teams.scheduler_config.steps]]
branch = [
  { when = "steps.draft.data.score > 0.5", steps = [{ approval = { question = "?", on_feedback = "draft", max_feedback_rounds = 3 } }] },
  { steps = [{ parallel = [{ agent_id = "a" }], join = "{{ previous.text }}" }] },
]

[[teams.scheduler_config.steps]]
map = { over = "steps.draft.data.list", steps = [{ agent_id = "a" }], max_parallel = 2 }
`),
    ).toEqual([
      {
        name: 'draft',
        agentId: 'a',
        input: 'Write: {{ question.text }}',
        outputSchema: { type: 'object', properties: { score: { type: 'number' } } },
        maxOutputRetries: 1,
        maxRetries: 2,
      },
      {
        when: 'steps.draft.data.score < 0.8',
        parallel: [{ agentId: 'a' }, { agentId: 'b' }],
        join: { agentId: 'b', input: 'Join: {{ previous.text }}', timeoutSeconds: 3 },
      },
      {
        branch: [
          {
            when: 'steps.draft.data.score > 0.5',
            steps: [{ approval: { question: '?', onFeedback: 'draft', maxFeedbackRounds: 3 } }],
          },
          { steps: [{ parallel: [{ agentId: 'a' }], join: '{{ previous.text }}' }] },
        ],
      },
      { map: { over: 'steps.draft.data.list', steps: [{ agentId: 'a' }], maxParallel: 2 } },
    ])
  })

  test.each([
    [
      'approval = { question = "?", on_feedback = "x" }',
      0,
      30,
      'on_feedback must name an earlier step',
    ],
    ['agent_id = "a"\njoin = "x"', 1, 1, 'must stand beside parallel'],
    ['map = { agent_id = "a", steps = [] }', 0, 1, 'needs exactly one of agent_id, steps'],
    ['agent_id = "a"\nname = "a b"', 1, 1, 'name must begin with a letter'],
    ['agent_id = "a"\noutput_schema = { type = 3 }', 1, 19, 'output_schema: type must be'],
    [
      'agent_id = "a"\noutput_schema = { properties = { day = { const = 2020-01-01 } } }',
      1,
      42,
      'properties.day.const is a date, and JSON has none: write it as a text',
    ],
    ['agent_id = "a"\noutput_schema = { enum = [1, nan] }', 1, 30, 'enum[1] is no value of JSON'],
    ['agent_id = "a"\noutput_schema = 3', 1, 1, 'must be a table that is a JSON Schema'],
    [
      'agent_id = "a"\nmax_output_retries = 1',
      1,
      1,
      'max_output_retries needs an output schema beside it',
    ],
    ['agent_id = "a"\nmax_retries = "two"', 1, 1, 'must be a number, such as 3 or 0.5'],
    ['parallel = [{ agent_id = "a" }]\njoin = 3', 1, 1, 'must be a template, or a table with the'],
    [
      'parallel = [{ agent_id = "a" }]\njoin = { agent_id = "a", inptu = "x" }',
      1,
      26,
      'unknown key inptu (did you mean input?)',
    ],
    [
      'parallel = [{ agent_id = "a" }]\nguards = { output = ["secrets"] }',
      1,
      1,
      'guards: must stand beside agent_id',
    ],
    [
      'approval = { question = "?", max_feedback_rounds = 2 }',
      0,
      30,
      'max_feedback_rounds needs the name of a step',
    ],
    [
      'map = { steps = [{ agent_id = "a" }], max_retries = 2 }',
      0,
      39,
      'max_retries is for one member: say it to the steps',
    ],
    [
      'agent_id = "a"\noutput_schema = { additionalProperties = { pattern = "\\\\d(?=x)" } }',
      1,
      58,
      'additionalProperties.pattern cannot be checked: looking ahead',
    ],
    [
      "agent_id = 'a'\n[teams.scheduler_config.steps.output_schema.properties]\nx.pattern = '[a'",
      2,
      14,
      'properties.x.pattern cannot be checked: the bracket [ is not closed',
    ],
    [
      'agent_id = "a"\noutput_schema.patternProperties."(a" = { type = "string" }',
      1,
      15,
      'patternProperties cannot be checked: the bracket ( is not closed',
    ],
    [
      'agent_id = "a"\noutput_schema = "x.json"',
      1,
      1,
      'the schema x.json cannot be read: files are read only',
    ],
    ['agent_id = "a"\nwhen = "1 +"', 1, 12, 'when cannot be read: '],
    [
      'agent_id = "a"\nwhen = "steps.x.text == 1"',
      1,
      9,
      'when cannot be read: there is no step x before this one',
    ],
    ['agent_id = "a"\ninput = "{{ item }}"', 1, 13, 'input cannot be read: item is not known here'],
    ['agent_id = "a"\nwhne = "true"', 1, 1, 'unknown key whne (did you mean when?)'],
  ])('a fault is told with line and column: %s', (text, below, column, words) => {
    const said = problemOf(text)
    expect(said).toContain(`corral.toml:${line + below}:${column}: `)
    expect(said).toContain(words)
  })
})

describe('what is said to a member, beside what is none', () => {
  test.each([
    [
      'parallel = [{ agent_id = "a" }]\ntimeout_seconds = 5\nmax_retries = 1',
      [
        [1, 1, 'timeout_seconds beside parallel does nothing: put it into each of the steps'],
        [2, 1, 'max_retries beside parallel does nothing'],
      ],
    ],
    [
      'branch = [{ steps = [{ map = { agent_id = "a" }, fallback_agent_id = "b" }] }]',
      [[0, 50, 'fallback_agent_id beside map does nothing: put it inside map']],
    ],
    [
      'max_retries = 2\n[teams.scheduler_config.steps.loop]\nuntil = "x"\nmax_iterations = 2\nsteps = [{ map = { steps = [{ parallel = [{ agent_id = "a" }], max_retries = 1 }] } }]',
      [
        [0, 1, 'max_retries beside loop does nothing: put it into the steps inside'],
        [4, 64, 'max_retries beside parallel does nothing'],
      ],
    ],
    [
      'approval = { question = "?" }\ntimeout_seconds = 60',
      [[1, 1, 'timeout_seconds beside approval does nothing: a person is asked']],
    ],
    ['agent_id = "a"\ntimeout_seconds = 5\nmax_retries = 1\nfallback_agent_id = "b"', []],
    ['map = { agent_id = "a", timeout_seconds = 5 }', []],
  ])('is warned of with line and column: %s', (text, expected) => {
    expect(parseConfig(head + text).warnings).toEqual(
      expected.map(([below, column, words]) =>
        expect.stringContaining(`line ${line + Number(below)}, column ${column}: ${words}`),
      ),
    )
  })
})

describe('a schema in a file of its own', () => {
  let directory = ''
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'corral-schemas-'))
  })
  afterEach(() => rm(directory, { recursive: true }))

  const load = async (name: string, schema?: string) => {
    const path = join(directory, 'corral.toml')
    await writeFile(path, `${head}agent_id = "a"\noutput_schema = "${name}"\n`)
    if (schema !== undefined) await writeFile(join(directory, name), schema)
    return loadConfig(path, {})
  }

  test('is found beside the configuration', async () => {
    const { teams, files } = await load('review.json', '{"type":"object"}')
    expect(teams[0]?.scheduler).toMatchObject({ steps: [{ outputSchema: { type: 'object' } }] })
    expect(files).toEqual([join(directory, 'review.json')])
  })

  test.each([
    ['there is none', undefined],
    ['it holds no JSON', '{'],
    ['it holds no JSON object', '[]'],
  ])('is a fault where %s', async (fault, text) => {
    await expect(load('review.json', text)).rejects.toThrow(
      `${line + 1}:1: the schema review.json cannot be read: ${fault}`,
    )
  })
})
