import { onTestFinished } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { TeamServer, type TeamServerOptions } from '../../src/app/team-server.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { AgentManager } from '../../src/team/manager.ts'
import { Team } from '../../src/team/team.ts'
import { member } from '../fixtures/members.ts'

/** A TeamServer of a team with one member, on a free port until the test ends; gives its `/rpc`. */
export async function serveTeam(
  answer: Parameters<typeof member>[1] | Agent,
  options: TeamServerOptions = {},
): Promise<string> {
  const manager = new AgentManager()
  manager.registerWithId('writer', typeof answer === 'object' ? answer : member('writer', answer))
  const team = new Team(
    {
      id: 'team',
      name: 'Team',
      description: 'A team of one',
      agents: [{ agentId: 'writer' }],
      scheduler: { type: 'workflow', steps: [{ agentId: 'writer' }] },
    },
    manager,
    options.clock ? { clock: options.clock } : {},
  )
  const server = new TeamServer(team, 0, { host: '127.0.0.1', ...options })
  await server.start()
  onTestFinished(() => server.shutdown())
  return `${server.url}/rpc`
}

/** A place where everybody waits until so many have come; whoever comes later passes at once. */
export function createBarrier(count: number): () => Promise<void> {
  const { promise, resolve } = createDeferred<void>()
  let come = 0
  return () => {
    come += 1
    if (come >= count) resolve()
    return promise
  }
}
