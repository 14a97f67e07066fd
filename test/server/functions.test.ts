import { describe, expect, onTestFinished, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import type { AgentFunction } from '../../src/agents/function.ts'
import { A2AClient } from '../../src/client/index.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { defineTeam } from '../../src/team/team.ts'

async function clientOf(agents: readonly (Agent | AgentFunction)[], path = ''): Promise<A2AClient> {
  const server = await createServer({ agents, timeouts: { shutdownMs: 0 } })
  const { port } = await listen(server, { port: 0, host: '127.0.0.1' })
  const client = new A2AClient(`http://127.0.0.1:${port}${path}`)
  onTestFinished(async () => {
    await client.close()
    await server.close()
  })
  return client
}

const shout: AgentFunction = ({ parts }) => textOf(parts).toUpperCase()

describe('a function is served as an agent', () => {
  test.each<readonly [string, AgentFunction]>([
    ['plain', shout],
    ['async', async ({ parts }) => textOf(parts).toUpperCase()],
    [
      'a generator of events',
      async function* ({ parts }) {
        for (const letter of textOf(parts)) yield letter.toUpperCase()
      },
    ],
    ['with the turn', ({ parts }, turn) => turn.reply(textOf(parts).toUpperCase())],
  ])('%s', async (_kind, answer) => {
    const client = await clientOf([answer])
    expect(await client.run('hi')).toBe('HI')
  })

  test('under its own name', async () => {
    const first = await clientOf([function writeCode() {}])
    expect(await first.fetchAgentCard()).toMatchObject({ name: 'writeCode' })
    const second = await clientOf([() => 'first', shout], '/agents/shout')
    expect(await second.fetchAgentCard()).toMatchObject({ name: 'shout' })
    expect(await second.run('hi')).toBe('HI')
  })

  test('as "agent" where it has no name', async () => {
    const client = await clientOf([() => 'x'])
    expect(await client.fetchAgentCard()).toMatchObject({ name: 'agent' })
  })

  test('and may be a member of a team, by the name that the team gives it', async () => {
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { loud: shout, twice: ({ parts }) => textOf(parts).repeat(2) },
      scheduler: { type: 'workflow', steps: [{ agentId: 'loud' }, { agentId: 'twice' }] },
    })
    expect(await (await clientOf([team])).run('hi')).toBe('HIHI')
    expect(await team.manager.get('loud')?.info()).toMatchObject({ id: 'loud', name: 'loud' })
  })
})

describe('what is no agent is refused at its place', () => {
  // From JavaScript anything can stand there; the type forbids it only in TypeScript.
  const wrong = (value: unknown): Agent => value as Agent

  test('in a server', async () => {
    const made = createServer({ agents: [shout, wrong({ name: 'x' })] })
    await expect(made).rejects.toThrow('agents[1] is neither an agent nor a function that answers')
    const promised = createServer({ agents: [wrong(Promise.resolve(shout))] })
    await expect(promised).rejects.toThrow('agents[0] is a promise: await it')
    const nameless = createServer({ agents: [() => 'a', () => 'b'] })
    await expect(nameless).rejects.toThrow('Two agents have the id agent: each needs its own')
  })

  test('in a team', () => {
    const make = (): unknown =>
      defineTeam({
        id: 'team',
        name: 'Team',
        agents: { loud: wrong(undefined) },
        scheduler: { type: 'router', defaultAgentId: 'loud' },
      })
    expect(make).toThrow('agents.loud is neither an agent nor a function that answers')
  })
})
