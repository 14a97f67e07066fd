import { expect, test } from 'vitest'
import { answerParts, textOf } from '../../src/protocol/task.ts'
import { createServer, type Server } from '../../src/server/index.ts'
import { defineTeam, type Team } from '../../src/team/team.ts'
import { member, type ScriptedMember } from '../fixtures/members.ts'

function teamOf(...members: ScriptedMember[]): Team {
  return defineTeam({
    id: 'team',
    name: 'Team',
    agents: Object.fromEntries(members.map((one) => [one.id, one])),
    scheduler: { type: 'workflow', steps: members.map(({ id }) => ({ agentId: id })) },
  })
}

async function send(server: Server, messageId: string): Promise<string> {
  const message = { messageId, role: 'ROLE_USER', parts: [{ text: 'x' }] } as const
  const answer = await server.dispatch()('SendMessage', { message }, {})
  return 'task' in answer ? textOf(answerParts(answer.task)) : ''
}

test('a run keeps the team it began with; the next message gets the changed one', async () => {
  let go = (): void => {}
  const slow = member('slow', async (text) => {
    await new Promise<void>((resolve) => {
      go = resolve
    })
    return `slow(${text})`
  })
  const server = await createServer({ agents: [teamOf(slow, member('old'))] })
  const first = send(server, 'm-1')
  await expect.poll(() => slow.turns.length).toBe(1)
  await server.setAgents([teamOf(member('changed'))])
  expect(await send(server, 'm-2')).toBe('changed(x)')
  go()
  expect(await first).toBe('old(slow(x))')
  await server.close()
})
