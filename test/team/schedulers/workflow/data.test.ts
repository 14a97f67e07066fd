import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { textOf } from '../../../../src/protocol/task.ts'
import type { JsonObject } from '../../../../src/protocol/types.ts'
import type { StepScope } from '../../../../src/team/config.ts'
import { member } from '../../../fixtures/members.ts'
import { asker, callsOf, entriesOf, flow, runFlow, teller } from './scene.ts'

const score = (text: string): number => (text.includes('good') ? 0.9 : 0.4)
const reviewer = teller('reviewer', (text) => ({ score: score(text), reason: 'dull' }))
const review = { name: 'review', agentId: 'reviewer' }

describe('a step', () => {
  test('sees earlier results as text and as data', async () => {
    const team = flow(
      { writer: member('writer'), reviewer },
      { name: 'draft', agentId: 'writer' },
      review,
      {
        agentId: 'writer',
        when: 'steps.review.data.score < 0.8',
        input:
          'Improve: {{ steps.draft.text }} because {{ steps.review.data.reason }} {{ feedback }}',
      },
    )
    expect(callsOf(await runFlow(team, 'news'))).toEqual([
      '1 writer: news',
      '2 reviewer: writer(news)',
      '3 writer: Improve: writer(news) because dull ',
    ])
    const good = await runFlow(team, 'good news')
    expect(good.delegations).toHaveLength(2)
    expect(entriesOf(good, 'skip')).toEqual([{ step: '3' }])
    expect(good.text).toBe('{"score":0.9,"reason":"dull"}')
    expect(good.task.artifacts?.[0]?.parts).toEqual([{ data: { score: 0.9, reason: 'dull' } }])
  })

  test('sees the question, the answer before it and values of the conversation', async () => {
    const keeper = member('keeper', (text, turn) => {
      turn.context.set('city', 'Ulm')
      return `kept ${text}`
    })
    const team = flow(
      { keeper, echo: member('echo', (text) => text) },
      { agentId: 'keeper' },
      { agentId: 'echo', input: '{{ question.text }}/{{ previous.text }}/{{ context.city }}' },
    )
    expect((await runFlow(team, 'x')).text).toBe('x/kept x/Ulm')
  })

  test('may have functions for rules, which are called once, however often the run is repeated', async () => {
    const called: string[] = []
    const team = flow(
      { writer: member('writer'), asker: asker('asker', 'What?') },
      { name: 'draft', agentId: 'writer' },
      {
        agentId: 'writer',
        when({ steps, previous }: StepScope) {
          called.push('when')
          return steps.draft?.text === previous.text
        },
        async input({ question }: StepScope) {
          called.push('input')
          return [{ text: `again: ${question.text}` }]
        },
      },
      { agentId: 'asker' },
    )
    const run = await runFlow(team, 'x', 'that')
    expect(run.text).toBe('heard that')
    expect(called).toEqual(['when', 'input'])
    expect(callsOf(run)[1]).toBe('2 writer: again: x')
  })

  test('fails where an expression does, with its text and position', async () => {
    const team = flow(
      { writer: member('writer') },
      { name: 'draft', agentId: 'writer' },
      { name: 'fix', agentId: 'writer', when: 'steps.draft.data.score < 1.0' },
    )
    const run = await runFlow(team, 'x')
    expect(run.state).toBe('TASK_STATE_FAILED')
    expect(run.text).toMatch(
      /^Step "fix", when: the expression steps\.draft\.data\.score < 1\.0 failed at character \d+/,
    )
  })

  test('gives data that fits its schema', async () => {
    const answers = ['no JSON', '{"score": "high"}', '{"score": 0.5}']
    const judge = member('judge', () => answers.shift() ?? '')
    const team = flow(
      { judge, echo: member('echo', (text) => text) },
      { name: 'judge', agentId: 'judge', outputSchema: z.object({ score: z.number() }) },
      {
        agentId: 'echo',
        input: 'score {{ steps.judge.data.score }}',
        when: 'steps.judge.data.score < 1',
      },
    )
    expect((await runFlow(team, 'x')).text).toBe('score 0.5')
    expect(answers).toEqual([])
  })

  test('fails where no answer fits', async () => {
    const team = flow(
      { judge: member('judge', () => 'no') },
      { agentId: 'judge', outputSchema: { type: 'object' }, maxOutputRetries: 1 },
    )
    const run = await runFlow(team, 'x')
    expect(run.state).toBe('TASK_STATE_FAILED')
    expect(entriesOf(run, 'output')).toHaveLength(2)
  })
})

test('the definition of a team holds schemas of libraries as JSON Schema, and no functions', () => {
  const tree = z.object({
    get inner() {
      return tree.optional()
    },
  })
  const step = { agentId: 'a', when: () => true, outputSchema: tree }
  const { definition } = flow({ a: member('a') }, step)
  expect(definition).toMatchObject([
    { scheduler: { steps: [{ outputSchema: { type: 'object' } }] } },
    [],
  ])
  expect(JSON.stringify(definition)).not.toContain('when')
})

describe('a branch', () => {
  const steps = [
    review,
    {
      name: 'publish',
      branch: [
        { when: 'steps.review.data.score > 0.8', steps: [{ name: 'high', agentId: 'high' }] },
        { steps: [{ agentId: 'low' }, { agentId: 'low' }] },
      ],
    },
    { agentId: 'end', input: '{{ steps.high.text }}|{{ steps.publish.text }}' },
  ]
  const agents = { reviewer, high: member('high'), low: member('low'), end: member('end') }

  test('goes the way of the first case that holds', async () => {
    const run = await runFlow(flow(agents, ...steps), 'good')
    expect(
      callsOf(run)
        .slice(1)
        .map((call) => call.split(':')[0]),
    ).toEqual(['2.1.1 high', '3 end'])
    expect(entriesOf(run, 'branch')).toEqual([{ step: '2', case: 1 }])
    expect(run.text).toBe('end(high()|high())')
  })

  test('goes the last way otherwise, and a step that did not run gave nothing', async () => {
    const run = await runFlow(flow(agents, ...steps), 'bad')
    expect(entriesOf(run, 'branch')).toEqual([{ step: '2', case: 2 }])
    expect(run.text).toBe('end(|low(low()))')
  })

  test('is left out where no case holds', async () => {
    const team = flow(
      agents,
      { agentId: 'low' },
      { branch: [{ when: 'previous.text == "x"', steps: [{ agentId: 'high' }] }] },
    )
    const run = await runFlow(team, 'y')
    expect(run.text).toBe('low(y)')
    expect(entriesOf(run, 'skip')).toEqual([{ step: '2' }])
  })

  test('streams the words of the last step of the last branch', async () => {
    const slow = member('slow', async function* () {
      yield 'one '
      yield 'two'
    })
    const team = flow({ slow }, { branch: [{ steps: [{ agentId: 'slow' }] }] })
    const { events } = await runFlow(team, 'x')
    expect(events.filter((event) => 'artifactUpdate' in event)).toHaveLength(2)
  })
})

describe('parallel steps', () => {
  const agents = { a: member('a'), b: member('b'), c: member('c', (text) => `<${text}>`) }
  const parallel = [
    { name: 'a', agentId: 'a' },
    { name: 'b', agentId: 'b' },
  ]

  test('are joined by a template', async () => {
    const team = flow(agents, { parallel, join: '{{ steps.b.text }} then {{ steps.a.text }}' })
    expect((await runFlow(team, 'x')).text).toBe('b(x) then a(x)')
  })

  test('are joined by a function', async () => {
    const join = ({ steps }: StepScope) => `${steps.a?.text}+${steps.b?.text}`
    expect((await runFlow(flow(agents, { parallel, join }), 'x')).text).toBe('a(x)+b(x)')
  })

  test('are joined by a member, which gets them under headings or as its input says', async () => {
    const plain = await runFlow(flow(agents, { parallel, join: { agentId: 'c' } }), 'x')
    expect(plain.text).toBe('<a:\na(x)\n\nb:\nb(x)>')
    expect(callsOf(plain)[2]).toMatch(/^1\.join c: /)
    const join = { agentId: 'c', input: '{{ steps.a.text }}' }
    expect((await runFlow(flow(agents, { parallel, join }), 'x')).text).toBe('<a(x)>')
  })

  test('see nothing of each other, also in a loop', async () => {
    const loop = {
      steps: [
        {
          parallel: [
            { name: 'a', agentId: 'a', input: 'a{{ steps.b.text }}' },
            { name: 'b', agentId: 'b', input: 'b{{ steps.a.text }}' },
          ],
          join: '{{ steps.a.text }} {{ steps.b.text }}',
        },
      ],
      until: () => false,
      maxIterations: 2,
    }
    const team = flow(agents, { loop })
    expect((await runFlow(team, 'x')).text).toBe('a(ab(b)) b(ba(a))')
  })
})

describe('a loop', () => {
  test('ends by an expression, and its steps see what later ones gave in the round before', async () => {
    const writer = member('writer', (text) => `${text}!`)
    const judge = teller('judge', (text) => ({ done: text.endsWith('!!!') }))
    const team = flow(
      { writer, judge },
      {
        loop: {
          steps: [
            {
              name: 'write',
              agentId: 'writer',
              input: '{{ round == 1 ? question.text : steps.write.text }}',
            },
            { name: 'judge', agentId: 'judge' },
          ],
          until: 'previous.data.done',
          maxIterations: 9,
        },
      },
      { agentId: 'writer', input: '{{ steps.write.text }}' },
    )
    const run = await runFlow(team, 'go')
    expect(run.text).toBe('go!!!!')
    expect(callsOf(run)[2]).toBe('1#2.1 writer: go!')
  })
})

describe('a map', () => {
  const lister = teller('lister', () => [{ city: 'Ulm' }, { city: 'Jena' }])

  test('goes over a list of data, by a member with an input for each item', async () => {
    const team = flow(
      { lister, guide: member('guide') },
      { name: 'list', agentId: 'lister' },
      { agentId: 'guide', input: 'other' },
      { map: { over: 'steps.list.data', agentId: 'guide', input: 'See {{ item.city }}' } },
    )
    expect((await runFlow(team, 'x')).text).toBe('guide(See Ulm)\nguide(See Jena)')
  })

  test('asks a member about each item by itself, and what was said there is not heard later', async () => {
    const guide = member('guide')
    const team = flow(
      { lister, guide },
      { name: 'list', agentId: 'lister' },
      { agentId: 'guide', input: 'first' },
      { map: { over: 'steps.list.data', agentId: 'guide', input: 'See {{ item.city }}' } },
      { agentId: 'guide', input: 'last' },
    )
    await runFlow(team, 'x')
    const known = guide.turns.map(({ history }) => history.map(({ parts }) => textOf(parts)))
    expect(known).toEqual([[], [], [], ['first', 'guide(first)']])
  })

  test('goes by steps of its own, and gives a list where each answer is data', async () => {
    const rater = teller('rater', (text) => ({ length: text.length }))
    const team = flow(
      { lister, rater, echo: member('echo', (text) => text) },
      { name: 'list', agentId: 'lister' },
      {
        name: 'rated',
        map: {
          over: 'steps.list.data.filter(one, one.city != "Ulm")',
          steps: [
            { name: 'city', agentId: 'echo', input: '{{ item.city }}' },
            { agentId: 'rater', input: '{{ steps.city.text }}' },
          ],
        },
      },
      {
        agentId: 'echo',
        input: '{{ steps.rated.data[0].length }} of {{ size(steps.rated.data) }}',
      },
    )
    const run = await runFlow(team, 'x')
    expect(run.text).toBe('4 of 1')
    expect(callsOf(run).slice(1, 3)).toEqual(['2[1].1 echo: Jena', '2[1].2 rater: Jena'])
  })

  test('fails where a function gives no list', async () => {
    const over = () => 'nothing' as never
    const run = await runFlow(flow({ lister }, { map: { over, agentId: 'lister' } }), 'x')
    expect(run.text).toBe('Step 1, over: it must give a list')
  })
})

describe('rules that cannot be read are errors of the team', () => {
  const saidOf = (...steps: readonly JsonObject[]): string => {
    try {
      flow({ a: member('a') }, ...(steps as never[]))
      return 'it is a team'
    } catch (error) {
      return error instanceof Error ? error.message.replace('Team "flow": scheduler.', '') : ''
    }
  }
  const draft = { name: 'draft', agentId: 'a' }

  test.each<readonly [string, readonly JsonObject[], RegExp]>([
    ['syntax', [{ agentId: 'a', when: '1 +' }], /^steps\[0\]\.when: cannot be read: /],
    [
      'an unknown step',
      [draft, { agentId: 'a', when: 'steps.drfat.text == ""' }],
      /^steps\[1\]\.when: cannot be read: there is no step drfat before this one.*draft/,
    ],
    [
      'a later step',
      [{ agentId: 'a', input: '{{ steps.draft.text }}' }, draft],
      /^steps\[0\]\.input: cannot be read: there is no step draft/,
    ],
    [
      'a sibling',
      [{ parallel: [draft, { agentId: 'a', when: 'steps.draft.text == ""' }] }],
      /^steps\[0\]\.parallel\[1\]\.when: cannot be read/,
    ],
    [
      'a step within a map',
      [{ map: { steps: [draft] } }, { agentId: 'a', when: 'steps.draft.text == ""' }],
      /^steps\[1\]\.when: cannot be read/,
    ],
    [
      'a case',
      [{ branch: [{ when: 'stpes.x', steps: [draft] }] }],
      /^steps\[0\]\.branch\[0\]\.when: cannot be read/,
    ],
    [
      'item outside a map',
      [{ agentId: 'a', input: '{{ item }}' }],
      /^steps\[0\]\.input: cannot be read: item is not known here/,
    ],
    [
      'what is no list',
      [{ map: { agentId: 'a', over: '"x"' } }],
      /^steps\[0\]\.map\.over: cannot be read: it must be a list/,
    ],
    [
      'until',
      [{ loop: { steps: [draft], until: 'steps.x.data', maxIterations: 2 } }],
      /^steps\[0\]\.loop\.until: cannot be read: there is no step x/,
    ],
    [
      'a join',
      [{ parallel: [draft], join: '{{ steps.x.text }}' }],
      /^steps\[0\]\.join: cannot be read/,
    ],
  ])('%s', (_name, steps, words) => {
    expect(saidOf(...steps)).toMatch(words)
  })

  test('and an earlier one is seen by the order of the steps, from inside lists that have ended too', () => {
    const inner = { branch: [{ steps: [{ ...draft, name: 'inner' }] }], order: 1 }
    expect(saidOf({ agentId: 'a', when: 'steps.inner.text == ""', order: 2 }, inner)).toBe(
      'it is a team',
    )
  })
})
