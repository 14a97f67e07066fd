import { describe, expect, test } from 'vitest'
import type { Step } from '../../../src/team/config.ts'
import { InvalidTeamError } from '../../../src/team/errors.ts'
import { defineTeam } from '../../../src/team/team.ts'
import { member } from '../../fixtures/members.ts'

/** What is said of a workflow of these steps, as JavaScript may write them. */
function saidOf(...steps: readonly unknown[]): string {
  const agents = { writer: member('writer'), editor: member('editor') }
  try {
    defineTeam({ id: 't', name: 'T', agents, scheduler: { type: 'workflow', steps } } as never)
  } catch (error) {
    if (error instanceof InvalidTeamError) return error.message.replace('Team "t": scheduler.', '')
    throw error
  }
  return 'it is a team'
}

const writer = { agentId: 'writer' }

const approval = (onFeedback: string, more: object = {}): object => ({
  approval: { question: 'Good?', onFeedback, ...more },
})

const mustName =
  'steps[1].approval.onFeedback must name an earlier step of this list or one around it'

describe('steps that cannot be are refused when the team is made', () => {
  test.each<readonly [string, readonly unknown[], string]>([
    [
      'a name that is no word',
      [{ ...writer, name: 'two words' }],
      'steps[0].name must begin with a letter and go on with letters, digits, "_" or "-", 64 at most, not "two words"',
    ],
    [
      'a name that stands twice, also in another list',
      [{ ...writer, name: 'a' }, { branch: [{ steps: [{ ...writer, name: 'a' }] }] }],
      'steps[1].branch[0].steps[0].name: there is another step "a"',
    ],
    [
      'when beside condition',
      [{ ...writer, when: 'true', condition: 'x' }],
      'steps[0].when: cannot stand beside condition',
    ],
    ['a branch without cases', [{ branch: [] }], 'steps[0].branch: a branch needs cases'],
    [
      'an else that is not the last case',
      [{ branch: [{ steps: [writer] }, { when: 'true', steps: [writer] }] }],
      'steps[0].branch[0]: a case without when runs otherwise and must be the last',
    ],
    [
      'a case without steps',
      [{ branch: [{ steps: [] }] }],
      'steps[0].branch[0].steps: a case needs steps',
    ],
    [
      'input beside what is no member',
      [{ parallel: [writer], input: 'x' }],
      'steps[0].input must stand beside agentId',
    ],
    [
      'input beside map',
      [{ map: { agentId: 'writer' }, input: 'x' }],
      'steps[0].input must stand beside agentId or inside map',
    ],
    [
      'join beside a member',
      [{ ...writer, join: 'x' }],
      'steps[0].join must stand beside parallel',
    ],
    [
      'a join by who is no member',
      [{ parallel: [writer], join: { agentId: 'wrtier' } }],
      'steps[0].join.agentId: a step names "wrtier", which is not a member; did you mean "writer"?',
    ],
    [
      'a map of a member and of steps',
      [{ map: { agentId: 'writer', steps: [writer] } }],
      'steps[0].map needs exactly one of agentId, steps, not agentId and steps',
    ],
    [
      'a map whose steps are asked as one member would be',
      [{ map: { steps: [writer], maxRetries: 2 } }],
      'steps[0].map.maxRetries is for one member: say it to the steps',
    ],
    [
      'output retries out of range',
      [{ ...writer, maxOutputRetries: 11 }],
      'steps[0].maxOutputRetries must be a whole number from 0 to 10, not 11',
    ],
    [
      'a schema that is none',
      [{ ...writer, outputSchema: { type: 'nmber' } }],
      expect.stringMatching(/^steps\[0\]\.outputSchema\.type: .*type must be/) as unknown as string,
    ],
    [
      'a JSON Schema without the schema that it belongs to',
      [{ ...writer, jsonSchema: {} }],
      'steps[0].jsonSchema needs an output schema beside it',
    ],
    [
      'output retries without a schema',
      [{ ...writer, maxOutputRetries: 1 }],
      'steps[0].maxOutputRetries needs an output schema beside it',
    ],
    [
      'feedback to nobody',
      [writer, approval('draft')],
      `${mustName}, not "draft"; none has a name here`,
    ],
    [
      'feedback to a misspelt step',
      [{ ...writer, name: 'draft' }, approval('drfat')],
      `${mustName}, not "drfat"; did you mean "draft"?`,
    ],
    [
      'feedback to a later step',
      [writer, approval('last'), { ...writer, name: 'last' }],
      `${mustName}, not "last"; none has a name here`,
    ],
    [
      'feedback into a list that has ended',
      [
        { loop: { steps: [{ ...writer, name: 'in' }], until: 'x', maxIterations: 2 } },
        approval('in'),
      ],
      `${mustName}, not "in"; none has a name here`,
    ],
    [
      'feedback to a sibling that goes on at the same time',
      [{ parallel: [{ ...writer, name: 'a' }, approval('a')] }],
      'steps[0].parallel[1].approval.onFeedback must name an earlier step of this list or one around it, not "a"; none has a name here',
    ],
    [
      'feedback rounds without feedback',
      [{ approval: { question: '?', maxFeedbackRounds: 2 } }],
      'steps[0].approval.maxFeedbackRounds needs the name of a step that feedback goes to',
    ],
    [
      'no feedback rounds',
      [{ ...writer, name: 'a' }, approval('a', { maxFeedbackRounds: 0 })],
      'steps[1].approval.maxFeedbackRounds must be a whole number from 1 to 100, not 0',
    ],
  ])('%s', (_name, steps, words) => {
    expect(saidOf(...steps)).toEqual(words)
  })

  test('and feedback may go to an earlier step of an enclosing list, by the order of the steps', () => {
    const deep = { map: { steps: [{ parallel: [approval('draft')] }] } }
    expect(
      saidOf({ branch: [{ steps: [deep] }], order: 2 }, { ...writer, name: 'draft', order: 1 }),
    ).toBe('it is a team')
  })
})

test('what is said to a member does not compile beside what is none, where it would do nothing', () => {
  const steps: readonly Step[] = [
    // @ts-expect-error a parallel step asks nobody itself
    { parallel: [writer], timeoutSeconds: 5 },
    // @ts-expect-error nor does a loop
    { loop: { steps: [writer], until: 'x', maxIterations: 2 }, maxRetries: 1 },
    // @ts-expect-error nor a branch
    { branch: [{ steps: [writer] }], fallbackAgentId: 'editor' },
    // @ts-expect-error a map has it inside
    { map: { agentId: 'writer' }, timeoutSeconds: 5 },
    { map: { agentId: 'writer', timeoutSeconds: 5 } },
    { ...writer, timeoutSeconds: 5, maxRetries: 1, fallbackAgentId: 'editor' },
  ]
  // Programs that have it go on as they did.
  expect(saidOf(...steps)).toBe('it is a team')
})
