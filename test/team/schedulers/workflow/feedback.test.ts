import { describe, expect, test } from 'vitest'
import { textOf } from '../../../../src/protocol/task.ts'
import type { StepScope } from '../../../../src/team/config.ts'
import { runTeam } from '../../../../src/testing/index.ts'
import { member } from '../../../fixtures/members.ts'
import { asker, callsOf, entriesOf, flow, runFlow } from './scene.ts'

const agents = () => ({ writer: member('w'), fixer: member('f'), publisher: member('p') })
const draft = { name: 'draft', agentId: 'writer' }
const approval = (onFeedback: string, maxFeedbackRounds?: number) => ({
  approval: { question: 'Good?', onFeedback, ...(maxFeedbackRounds && { maxFeedbackRounds }) },
})
const publish = { agentId: 'publisher' }

describe('what is neither a yes nor a no', () => {
  test('lets the named step work again with it, and the run goes on from there', async () => {
    const team = flow(agents(), draft, { agentId: 'fixer' }, approval('draft'), publish)
    const run = await runFlow(team, 'x', 'shorter', 'yes, but in blue', 'yes')
    expect(callsOf(run)).toEqual([
      '1 writer: x',
      '2 fixer: w(x)',
      '1@2 writer: x\n\nFeedback: shorter',
      '2@2 fixer: w(x\n\nFeedback: shorter)',
      '1@3 writer: x\n\nFeedback: yes, but in blue',
      '2@3 fixer: w(x\n\nFeedback: yes, but in blue)',
      '4@3 publisher: f(w(x\n\nFeedback: yes, but in blue))',
    ])
    expect(entriesOf(run, 'approval')).toEqual([
      { step: '3', verdict: 'feedback', text: 'shorter' },
      { step: '3@2', verdict: 'feedback', text: 'yes, but in blue' },
      { step: '3@3', verdict: 'approved', text: 'yes' },
    ])
    expect(run.questions).toHaveLength(3)
  })

  test('runs the named step whatever its rules say, with feedback where its input uses it', async () => {
    const fix = {
      name: 'fix',
      agentId: 'fixer',
      when: 'false',
      input: 'Change {{ steps.draft.text }}: {{ feedback }}',
    }
    const run = await runFlow(
      flow(agents(), draft, fix, approval('fix'), publish),
      'x',
      'louder',
      'ok',
    )
    expect(callsOf(run)).toEqual([
      '1 writer: x',
      '2@2 fixer: Change w(x): louder',
      '4@2 publisher: f(Change w(x): louder)',
    ])
  })

  test('is put after the input that does not use it, a function among them', async () => {
    const seen: string[] = []
    const uses = { ...draft, input: ({ feedback }: StepScope) => `use ${feedback}` }
    const ignores = { ...draft, input: ({ question }: StepScope) => `${question.text}` }
    for (const step of [uses, ignores, { ...draft, input: 'Write.' }]) {
      const run = await runFlow(flow(agents(), step, approval('draft')), 'x', 'more', 'yes')
      seen.push(callsOf(run)[1] ?? '')
    }
    expect(seen).toEqual([
      '1@2 writer: use more',
      '1@2 writer: x\n\nFeedback: more',
      '1@2 writer: Write.\n\nFeedback: more',
    ])
  })

  test('is empty in the steps after the named one', async () => {
    const after = { agentId: 'fixer', input: '[{{ feedback }}]' }
    const run = await runFlow(flow(agents(), draft, after, approval('draft')), 'x', 'more', 'yes')
    expect(callsOf(run).filter((call) => call.includes('fixer'))).toEqual([
      '2 fixer: []',
      '2@2 fixer: []',
    ])
  })

  test('goes to a list of steps: the first one is told, all of them see it', async () => {
    const both = {
      name: 'both',
      branch: [
        {
          steps: [
            { agentId: 'writer' },
            { agentId: 'fixer', input: '{{ previous.text }} [{{ feedback }}]' },
          ],
        },
      ],
    }
    const run = await runFlow(flow(agents(), both, approval('both')), 'x', 'more', 'yes')
    expect(callsOf(run).slice(2)).toEqual([
      '1@2.1.1 writer: x\n\nFeedback: more',
      '1@2.1.2 fixer: w(x\n\nFeedback: more) [more]',
    ])
  })

  test('leaves the first step in touch with the caller', async () => {
    const heard: string[] = []
    const writer = member('w', async (text, turn) => {
      heard.push(textOf((await turn.conversation(10)).flatMap(({ parts }) => parts)))
      return `w(${text})`
    })
    await runFlow(flow({ ...agents(), writer }, draft, approval('draft')), 'x', 'more', 'yes')
    expect(heard[0]).toBe('')
    expect(heard[1]).toContain('Good?')
  })

  test('goes to a loop: its first round is told', async () => {
    const loop = { steps: [{ agentId: 'writer' }], until: 'false', maxIterations: 2 }
    const team = flow(agents(), { name: 'rounds', loop }, approval('rounds'))
    const run = await runFlow(team, 'x', 'more', 'yes')
    expect(callsOf(run).slice(2)).toEqual([
      '1@2#1.1 writer: x\n\nFeedback: more',
      '1@2#2.1 writer: w(x\n\nFeedback: more)',
    ])
  })

  test('goes out of branches and loops to the step of an enclosing list', async () => {
    const inner = { branch: [{ steps: [approval('draft'), publish] }] }
    const loop = { loop: { steps: [inner], until: 'p(', maxIterations: 2 } }
    const run = await runFlow(flow(agents(), draft, loop), 'x', 'more', 'yes')
    expect(callsOf(run)).toEqual([
      '1 writer: x',
      '1@2 writer: x\n\nFeedback: more',
      '2@2#1.1.1.2 publisher: w(x\n\nFeedback: more)',
    ])
    expect(entriesOf(run, 'branch')).toEqual([
      { step: '2#1.1', case: 1 },
      { step: '2@2#1.1', case: 1 },
    ])
  })

  test('ends the task as rejected when it has come too often', async () => {
    const team = flow(agents(), draft, approval('draft', 2))
    const run = await runFlow(team, 'x', 'a', 'b', 'c')
    expect(run.state).toBe('TASK_STATE_REJECTED')
    expect(run.text).toBe('The user did not approve after 2 rounds of feedback')
    expect(run.delegations).toHaveLength(3)
  })

  test('says so where it may come once', async () => {
    const run = await runFlow(flow(agents(), draft, approval('draft', 1)), 'x', 'a', 'b')
    expect(run.text).toBe('The user did not approve after one round of feedback')
    expect(run.delegations).toHaveLength(2)
  })

  test('is told once within the list that it goes to', async () => {
    const both = {
      name: 'both',
      branch: [{ steps: [{ agentId: 'writer' }, { agentId: 'fixer' }] }],
    }
    const run = await runFlow(flow(agents(), both, approval('both')), 'x', 'more', 'yes')
    expect(callsOf(run).slice(2)).toEqual([
      '1@2.1.1 writer: x\n\nFeedback: more',
      '1@2.1.2 fixer: w(x\n\nFeedback: more)',
    ])
  })

  test('is told to parallel steps, and not to what joins them', async () => {
    const both = { name: 'both', parallel: [{ agentId: 'writer' }], join: { agentId: 'fixer' } }
    const run = await runFlow(flow(agents(), both, approval('both')), 'x', 'more', 'yes')
    expect(callsOf(run).slice(2)).toEqual([
      '1@2.1 writer: x\n\nFeedback: more',
      '1@2.join fixer: writer:\nw(x\n\nFeedback: more)',
    ])
  })

  test('is over where the step that it goes to gives nothing', async () => {
    const first = {
      name: 'first',
      branch: [
        { when: ({ feedback }: StepScope) => feedback === '', steps: [{ agentId: 'writer' }] },
      ],
    }
    const fix = { agentId: 'fixer', input: '[{{ feedback }}]' }
    const run = await runFlow(flow(agents(), first, fix, approval('first')), 'x', 'more', 'yes')
    expect(callsOf(run)).toEqual(['1.1.1 writer: x', '2 fixer: []', '2@2 fixer: []'])
  })

  test('takes back the answer of its step, and of those after it', async () => {
    const first = {
      name: 'first',
      branch: [
        { when: ({ feedback }: StepScope) => feedback === '', steps: [{ agentId: 'writer' }] },
      ],
    }
    const run = await runFlow(flow(agents(), first, approval('first')), 'x', 'more', 'yes')
    expect(run.questions).toEqual(['w(x)\n\nGood?', 'x\n\nGood?'])
    expect(run.text).toBe('x')
  })

  test('comes five times at most where the approval does not say', async () => {
    const run = await runFlow(flow(agents(), draft, approval('draft')), 'x', ...'abcdef')
    expect(run.state).toBe('TASK_STATE_REJECTED')
    expect(run.delegations).toHaveLength(6)
  })

  test('is no feedback where nothing is said: the user is asked again', async () => {
    const team = flow(agents(), draft, approval('draft'))
    const file = { messageId: 'm', role: 'ROLE_USER' as const, parts: [{ raw: 'aGk=' }] }
    const run = await runTeam(team, 'x', { answers: [file, 'no'], logger: false })
    expect(run.state).toBe('TASK_STATE_REJECTED')
    expect(run.questions[1]).toMatch(/^That was neither a yes nor a no/)
  })

  test('may be data', async () => {
    const data = { messageId: 'm', role: 'ROLE_USER' as const, parts: [{ data: { words: 10 } }] }
    const team = flow(agents(), draft, approval('draft'))
    const run = await runTeam(team, 'x', { answers: [data, 'yes'], logger: false })
    expect(callsOf(run)[1]).toBe('1@2 writer: x\n\nFeedback: {"words":10}')
  })
})

describe('feedback among steps that go on at once', () => {
  test('waits until the others have ended, and a question of theirs comes first', async () => {
    const parallel = {
      parallel: [{ branch: [{ steps: [approval('draft')] }] }, { agentId: 'asker' }],
    }
    const team = flow({ ...agents(), asker: asker('asker', 'Which?') }, draft, parallel)
    const run = await runFlow(team, 'x', 'more', 'red', 'yes', 'blue')
    expect(run.questions.map((question) => question.split('\n').at(-1))).toEqual([
      'Good?',
      'Which?',
      'Good?',
      'Which?',
    ])
    expect(callsOf(run).filter((call) => call.includes('writer'))).toEqual([
      '1 writer: x',
      '1@2 writer: x\n\nFeedback: more',
    ])
  })

  test('to the same step comes together', async () => {
    const parallel = { parallel: [approval('draft'), approval('draft')] }
    const run = await runFlow(flow(agents(), draft, parallel), 'x', 'more', 'less', 'yes', 'yes')
    expect(callsOf(run)).toEqual(['1 writer: x', '1@2 writer: x\n\nFeedback: more\n\nless'])
  })

  test('to different steps goes to the first of them alone', async () => {
    const fix = { name: 'fix', agentId: 'fixer' }
    const parallel = { parallel: [approval('draft'), approval('fix')] }
    const team = flow(agents(), draft, fix, parallel)
    const run = await runFlow(team, 'x', 'more', 'less', 'yes', 'yes')
    expect(callsOf(run).slice(2)).toEqual([
      '1@2 writer: x\n\nFeedback: more',
      '2@2 fixer: w(x\n\nFeedback: more)',
    ])
  })

  test('goes out of a map', async () => {
    const lines = member('w', (text) => (text.includes('Feedback') ? 'three' : 'one\ntwo'))
    const map = { map: { steps: [approval('draft'), publish] } }
    const run = await runFlow(
      flow({ ...agents(), writer: lines }, draft, map),
      'x',
      'other',
      'yes',
      'yes',
    )
    expect(run.text).toBe('p(three)')
    expect(run.questions).toEqual(['one\n\nGood?', 'two\n\nGood?', 'three\n\nGood?'])
  })

  test('within an item of a map stays with the item', async () => {
    const lines = member('w', () => 'one\ntwo')
    const map = { map: { steps: [{ name: 'each', agentId: 'fixer' }, approval('each')] } }
    const run = await runFlow(
      flow({ ...agents(), writer: lines }, draft, map),
      'x',
      'more',
      'yes',
      'yes',
    )
    expect(run.text).toBe('f(one\n\nFeedback: more)\nf(two)')
  })
})
