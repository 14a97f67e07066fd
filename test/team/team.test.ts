import { describe, expect, test } from 'vitest'
import { A2AError } from '../../src/protocol/errors.ts'
import { historyExtension, usageExtension } from '../../src/protocol/extensions.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { BudgetConfig, SchedulerConfig, TeamConfig } from '../../src/team/config.ts'
import { AgentManager } from '../../src/team/manager.ts'
import { defineTeam, Team } from '../../src/team/team.ts'
import { InvalidTeamError } from '../../src/team/validate.ts'
import { member, untilCancelled } from '../fixtures/members.ts'
import { createTurn, foldEvents, runTurn } from '../fixtures/turn.ts'

function config(id: string, agents: readonly string[], scheduler?: SchedulerConfig): TeamConfig {
  return {
    id,
    name: `Team ${id}`,
    description: 'A team for tests',
    agents: agents.map((agentId) => ({ agentId })),
    scheduler: scheduler ?? { type: 'workflow', steps: agents.map((agentId) => ({ agentId })) },
  }
}

function managerOf(...ids: string[]): AgentManager {
  const manager = new AgentManager()
  for (const id of ids) manager.registerWithId(id, member(id))
  return manager
}

function faultOf(make: () => unknown): InvalidTeamError {
  try {
    make()
  } catch (error) {
    if (error instanceof InvalidTeamError) return error
    throw error
  }
  throw new Error('The team was not refused')
}

async function ask(team: Team, text: string): Promise<string> {
  const turn = createTurn(text)
  const task = foldEvents(turn, await runTurn(team, turn))
  expect(task.status.state).toBe('TASK_STATE_COMPLETED')
  return textOf((task.artifacts ?? []).flatMap((artifact) => artifact.parts))
}

describe('AT-20: a team is checked when it is made', () => {
  test('R-W7: a member that is not registered is named', () => {
    const error = faultOf(() => new Team(config('t', ['a', 'b']), managerOf('a')))
    expect(error.fault).toBe('unregisteredMember')
    expect(error.message).toBe('Team "t": agent "b" is not registered; did you mean "a"?')
  })

  test('a supervisor that is no member is named', () => {
    const scheduler: SchedulerConfig = { type: 'supervisor', supervisorAgentId: 'boss' }
    const error = faultOf(() => new Team(config('t', ['a'], scheduler), managerOf('a')))
    expect(error.fault).toBe('missingSupervisor')
    expect(error.message).toBe(
      'Team "t": scheduler.supervisorAgentId: supervisor "boss" is not a member',
    )
  })

  test('R-W7: a default agent that is no member is named', () => {
    const scheduler: SchedulerConfig = { type: 'router', defaultAgentId: 'front' }
    const error = faultOf(() => new Team(config('t', ['a'], scheduler), managerOf('a')))
    expect(error.message).toBe(
      'Team "t": scheduler.defaultAgentId: default agent "front" is not a member',
    )
  })

  test('a workflow without steps is refused', () => {
    const scheduler: SchedulerConfig = { type: 'workflow', steps: [] }
    const error = faultOf(() => new Team(config('t', ['a'], scheduler), managerOf('a')))
    expect(error.message).toBe('Team "t": scheduler.steps: a workflow needs at least one step')
  })

  test('R-W7: a team without members is refused', () => {
    const error = faultOf(() => new Team(config('t', []), managerOf()))
    expect(error.message).toBe('Team "t": a team needs at least one member')
  })

  test('a step of somebody who is no member is refused, a fallback too', () => {
    const steps = [{ agentId: 'a', fallbackAgentId: 'x' }]
    const scheduler: SchedulerConfig = { type: 'workflow', steps }
    const error = faultOf(() => new Team(config('t', ['a'], scheduler), managerOf('a', 'x')))
    expect(error.message).toBe(
      'Team "t": scheduler.steps[0].fallbackAgentId: a step names "x", which is not a member; did you mean "a"?',
    )
  })

  test('R-W7: a team that would contain itself is refused with the way back to it', () => {
    const manager = managerOf('b')
    manager.registerWithId('a', new Team(config('a', ['b']), manager))
    const error = faultOf(() => new Team(config('b', ['a']), manager))
    expect(error.fault).toBe('cycle')
    expect(error.message).toBe('Team "b": a team cannot contain itself (b > a > b)')
  })

  test('a cycle through three teams is found, one of the same id elsewhere is none', () => {
    const manager = managerOf('c')
    manager.registerWithId('b', new Team(config('b', ['c']), manager))
    manager.registerWithId('a', new Team(config('a', ['b']), manager))
    expect(faultOf(() => new Team(config('c', ['a']), manager)).message).toContain('c > a > b > c')

    const inner = new Team(config('same', ['x']), managerOf('x'))
    const outside = new AgentManager()
    outside.registerWithId('inner', inner)
    expect(new Team(config('same', ['inner']), outside).config.id).toBe('same')
    // Nor is a member of a team within, where it is another one that has the id.
    outside.registerWithId('within', new Team(config('within', ['same']), managerOf('same')))
    expect(new Team(config('same', ['within']), outside).config.id).toBe('same')
  })

  test.each([
    ['timeoutSeconds', 0],
    ['timeoutSeconds', 315_360_001],
    ['maxTaskSeconds', 0],
    ['maxRetries', 11],
    ['maxRetries', -1],
  ])('a step with %s = %d is refused', (name, value) => {
    const steps = [{ agentId: 'a', [name]: value }]
    const error = faultOf(
      () => new Team(config('t', ['a'], { type: 'workflow', steps }), managerOf('a')),
    )
    expect(error.fault).toBe('invalidLimit')
    expect(error.message).toContain(name)
  })

  test.each([
    ['timeoutSeconds', 0.001],
    ['timeoutSeconds', 315_360_000],
    ['maxTaskSeconds', 86_400],
    ['maxRetries', 0],
    ['maxRetries', 10],
  ])('a step with %s = %d is taken', (name, value) => {
    const steps = [{ agentId: 'a', [name]: value }]
    expect(new Team(config('t', ['a'], { type: 'workflow', steps }), managerOf('a'))).toBeDefined()
  })

  test('R-W13: a limit that makes no sense is refused', () => {
    const scheduler: SchedulerConfig = { type: 'router', defaultAgentId: 'a', maxRoutingHops: 101 }
    expect(faultOf(() => new Team(config('t', ['a'], scheduler), managerOf('a'))).fault).toBe(
      'invalidLimit',
    )
  })
})

describe('what a team says of itself', () => {
  test('abilities come in the order of the configuration, without duplicates', async () => {
    const manager = new AgentManager()
    manager.registerWithId('b', member('b', undefined, { capabilities: ['write', 'edit'] }))
    manager.registerWithId('a', member('a', undefined, { capabilities: ['plan', 'write'] }))
    const team = new Team(config('t', ['a', 'b']), manager)
    expect(await team.info()).toMatchObject({
      id: 't',
      name: 'Team t',
      description: 'A team for tests',
      capabilities: ['plan', 'write', 'edit'],
      metadata: { type: 'team', mode: 'workflow', member_count: '2' },
    })
  })

  test('R-W14: a member that cannot say who it is does not stop the others', async () => {
    const manager = managerOf('a')
    manager.registerWithId('dead', {
      info: () => Promise.reject(new Error('no connection')),
      process: () => 'never',
    })
    const members = [{ agentId: 'a' }, { agentId: 'dead', capabilities: ['research'] }]
    const team = new Team({ ...config('t', ['a', 'dead']), agents: members }, manager)
    expect((await team.info()).capabilities).toEqual(['a', 'research'])
  })

  test('it reads history if the member that hears the caller does, and tells tokens if any does', async () => {
    const [history, usage] = [{ uri: historyExtension }, { uri: usageExtension }]
    const manager = new AgentManager()
    const details = { extensions: [history, usage, { uri: 'urn:other' }] }
    manager.registerWithId('model', member('model', undefined, { details }))
    manager.registerWithId('plain', member('plain'))
    const extensionsOf = async (...ids: string[]) =>
      (await new Team(config('t', ids), manager).info()).details?.extensions
    expect(await extensionsOf('model', 'plain')).toEqual([history, usage])
    expect(await extensionsOf('plain', 'model')).toEqual([usage])
    expect(await extensionsOf('plain')).toBeUndefined()
  })

  test('R-W8: it is healthy only when all members are', async () => {
    const manager = managerOf('a')
    const health = async () => ({ healthy: false, reason: 'tired' })
    manager.registerWithId('b', member('b', undefined, { health }))
    const team = new Team(config('t', ['a', 'b']), manager)
    expect(await team.health()).toEqual({
      healthy: false,
      reason: 'not healthy: b',
      members: { a: { healthy: true }, b: { healthy: false, reason: 'tired' } },
    })
    manager.registerWithId('b', member('b'), { replace: true })
    expect((await team.health()).healthy).toBe(true)
  })
})

describe('nesting', () => {
  function nest(levels: number, innermost: ReturnType<typeof member>): Team {
    const one = (id: string, inner: Team | ReturnType<typeof member>) =>
      defineTeam({
        id,
        name: id,
        agents: { inner },
        scheduler: { type: 'workflow', steps: [{ agentId: 'inner' }] },
      })
    let team = one('level-1', innermost)
    for (let level = 2; level <= levels; level++) team = one(`level-${level}`, team)
    return team
  }

  test('six teams in one another answer like one agent, chunk by chunk', async () => {
    const leaf = member('leaf', async function* () {
      yield 'one '
      yield 'two'
    })
    const turn = createTurn('go')
    const events = await runTurn(nest(6, leaf), turn)
    expect(
      events.filter((event) => typeof event === 'object' && 'artifactUpdate' in event),
    ).toHaveLength(2)
    expect(textOf(foldEvents(turn, events).artifacts?.[0]?.parts ?? [])).toBe('one two')
  })

  test('cancel in a team of three levels stops every member', async () => {
    const stopped: string[] = []
    const waiter = (id: string) =>
      member(id, async (_text, turn) => {
        await untilCancelled(turn).catch((reason) => {
          stopped.push(id)
          throw reason
        })
        return ''
      })
    const leaves = [waiter('a'), waiter('b'), waiter('c')]
    const inner = defineTeam({
      id: 'inner',
      name: 'inner',
      agents: Object.fromEntries(leaves.map((leaf) => [leaf.id, leaf])),
      scheduler: {
        type: 'workflow',
        steps: [{ parallel: leaves.map(({ id }) => ({ agentId: id })) }],
      },
    })
    const middle = defineTeam({
      id: 'middle',
      name: 'middle',
      agents: { inner },
      scheduler: { type: 'supervisor', supervisorAgentId: 'inner' },
    })
    const outer = defineTeam({
      id: 'outer',
      name: 'outer',
      agents: { middle },
      scheduler: { type: 'router', defaultAgentId: 'middle' },
    })
    const turn = createTurn('go')
    const running = runTurn(outer, turn)
    await expect.poll(() => leaves.every(({ turns }) => turns.length === 1)).toBe(true)
    const reason = new A2AError('taskCanceled', 'cancelled')
    turn.cancel(reason)
    await expect(running).rejects.toBe(reason)
    expect(stopped.sort()).toEqual(['a', 'b', 'c'])
  })

  test('a failure deep inside is short outside and tells its whole way inside', async () => {
    const leaf = member('leaf', () => {
      throw new Error('password=hunter2 at /srv/app/leaf.ts:1')
    })
    const error = await runTurn(nest(3, leaf), createTurn('go')).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(A2AError)
    expect(error).toMatchObject({
      code: 'processingError',
      message: 'An agent of the team could not answer',
      details: {},
    })
    const story: string[] = []
    for (let at: unknown = error; at instanceof Error; at = at.cause) story.push(at.message)
    expect(story.join('\n')).toContain('Team "level-3"')
    expect(story.join('\n')).toContain('Team "level-1": agent "inner" failed')
    expect(story.at(-1)).toContain('hunter2')
  })

  test('R-W15: an unavailable member keeps its code through every level', async () => {
    const leaf = member('leaf', () => {
      throw new A2AError('agentUnavailable', 'http://10.0.0.7 refused')
    })
    const error = await runTurn(nest(3, leaf), createTurn('go')).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'agentUnavailable',
      message: 'An agent of the team is not available',
    })
  })

  test('a team that meets its own message again refuses it', async () => {
    let again: Team | undefined
    const loop = member('loop', (_text, turn, message) => again?.process(message, turn) ?? '')
    again = defineTeam({
      id: 't',
      name: 't',
      agents: { loop },
      scheduler: { type: 'workflow', steps: [{ agentId: 'loop' }] },
    })
    const error = await runTurn(again, createTurn('go')).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(A2AError)
    expect(loop.asked).toHaveLength(1)
  })

  test('a message that has passed too many teams is refused', async () => {
    const passed = (count: number, budget?: BudgetConfig) => {
      const hops = Array.from({ length: count }, (_, i) => `hop-${i}`)
      const scheduler = { type: 'workflow', steps: [{ agentId: 'leaf' }] } as const
      const agents = { leaf: member('leaf') }
      const team = defineTeam({ id: 't', name: 't', agents, scheduler, ...(budget && { budget }) })
      return runTurn(team, createTurn('go', { hops }))
    }
    await expect(passed(16)).resolves.toBeDefined()
    await expect(passed(17)).rejects.toThrow('passed more than 16 teams')
    await expect(passed(2, { maxDepth: 2 })).resolves.toBeDefined()
    await expect(passed(3, { maxDepth: 2 })).rejects.toThrow('passed more than 2 teams')
  })
})

describe('runs are apart from one another', () => {
  test('R-W6: the second message works like the first, and 50 at once are not mixed', async () => {
    const slow = (id: string) =>
      member(id, async (text) => {
        await new Promise((resolve) => setImmediate(resolve))
        return `${text}>${id}`
      })
    const team = defineTeam({
      id: 't',
      name: 't',
      agents: { a: slow('a'), b: slow('b'), c: slow('c') },
      scheduler: {
        type: 'workflow',
        steps: [
          { agentId: 'c', order: 3 },
          { agentId: 'a', order: 1 },
          { agentId: 'b', order: 2 },
        ],
      },
    })
    expect(await ask(team, 'first')).toBe('first>a>b>c')
    expect(await ask(team, 'second')).toBe('second>a>b>c')
    const many = Array.from({ length: 50 }, (_, i) => `m${i}`)
    const answers = await Promise.all(many.map((text) => ask(team, text)))
    expect(answers).toEqual(many.map((text) => `${text}>a>b>c`))
  })
})
