import { describe, expect, test } from 'vitest'
import { InvalidTeamError } from '../../src/team/errors.ts'
import { defineTeam } from '../../src/team/team.ts'
import { member } from '../fixtures/members.ts'

/** What is said of a team of `writer` and `editor` as JavaScript may write it, where no compiler has looked. */
function saidOf(change: object): string {
  const team = { id: 't', name: 'T', agents, scheduler: workflow({ agentId: 'writer' }), ...change }
  try {
    defineTeam(team as never)
  } catch (error) {
    if (error instanceof InvalidTeamError) return error.message.replace('Team "t": ', '')
    throw error
  }
  return 'it is a team'
}

const agents = { writer: member('writer'), editor: member('editor') }

const workflow = (...steps: readonly unknown[]): object => ({ type: 'workflow', steps })

const steps = (...list: readonly unknown[]): object => ({ scheduler: workflow(...list) })

const writer = { agentId: 'writer' }

const parallel = { parallel: [{ agentId: 'wrtier' }] }

const kinds = 'agentId, parallel, branch, loop, map, approval'

describe('a team of another shape is refused when it is made, with the path', () => {
  test.each<readonly [object, string]>([
    [
      steps(writer, writer, parallel),
      'scheduler.steps[2].parallel[0].agentId: a step names "wrtier", which is not a member; did you mean "writer"?',
    ],
    [
      { scheduler: { type: 'supervisor', supervisorAgentId: 'edtor' } },
      'scheduler.supervisorAgentId: supervisor "edtor" is not a member; did you mean "editor"?',
    ],
    [
      steps({ agentID: 'writer' }),
      'scheduler.steps[0].agentID is no known key; did you mean agentId?',
    ],
    [steps({}), `scheduler.steps[0] needs exactly one of ${kinds}`],
    [
      steps(writer, { ...writer, parallel: [writer] }),
      `scheduler.steps[1] needs exactly one of ${kinds}, not agentId and parallel`,
    ],
    [steps('writer'), 'scheduler.steps[0] must be an object, not "writer"'],
    [steps({ agentId: 7 }), 'scheduler.steps[0].agentId must be a text, not 7'],
    [
      steps({ ...writer, timeoutSeconds: '3' }),
      'scheduler.steps[0].timeoutSeconds must be a number, not "3"',
    ],
    [
      steps({ ...writer, timeoutSeconds: 0 }),
      'scheduler.steps[0].timeoutSeconds must be > 0 and <= 315360000 seconds (10 years), not 0',
    ],
    [
      steps({ loop: { steps: [writer], until: 'x' } }),
      'scheduler.steps[0].loop.maxIterations is missing',
    ],
    [
      steps({ loop: { steps: [writer], until: '', maxIterations: 2 } }),
      'scheduler.steps[0].loop.until must be a text that says something, not ""',
    ],
    [
      steps({ loop: { steps: [{ parallel: writer }], until: 'x', maxIterations: 2 } }),
      'scheduler.steps[0].loop.steps[0].parallel must be a list, not a value of type object',
    ],
    [
      steps({ map: { agentId: 'writer', maxParallel: 0 } }),
      'scheduler.steps[0].map.maxParallel must be a whole number from 1 to 100, not 0',
    ],
    [steps({ approval: 'Good?' }), 'scheduler.steps[0].approval must be an object, not "Good?"'],
    [
      { scheduler: { type: 'workflow', step: [writer] } },
      'scheduler.step is no known key; did you mean steps?',
    ],
    [{ scheduler: { type: 'supervisor' } }, 'scheduler.supervisorAgentId is missing'],
    [{ scheduler: undefined }, 'scheduler is missing'],
    [{ scheduler: 'workflow' }, 'scheduler must be an object, not "workflow"'],
    [{ scheduler: { steps: [] } }, 'scheduler.type is missing'],
    [{ budget: { maxhops: 3 } }, 'budget.maxhops is no known key; did you mean maxHops?'],
    [{ budget: { maxHops: 0 } }, 'budget.maxHops must be more than 0 and at most 100, not 0'],
    [{ descriptoin: 'x' }, 'descriptoin is no known key; did you mean description?'],
    [{ name: undefined }, 'name is missing'],
    [{ agents: [agents.writer] }, 'agents must be an object of agents by their ids, not a list'],
    [{ agents: undefined }, 'agents is missing'],
  ])('%j', (change, words) => {
    expect(saidOf(change)).toBe(words)
  })

  test('and one that leaves out what may be left out is none of them', () => {
    const scheduler = { type: 'Workflow', steps: [{ ...writer, order: undefined }] }
    expect(saidOf({ scheduler, budget: undefined })).toBe('it is a team')
  })
})
