import { describe, expect, test } from 'vitest'
import { fromNextRecipient } from '../../src/compat/index.ts'
import type { RecipientHop } from '../../src/compat/message-handler.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { Task } from '../../src/protocol/types.ts'
import { defineTeam, type OwnScheduler, type Team } from '../../src/team/index.ts'
import { member, type ScriptedMember } from '../fixtures/members.ts'
import { createTurn, foldEvents, runTurn } from '../fixtures/turn.ts'

function teamOf(agents: Record<string, ScriptedMember>, scheduler: OwnScheduler): Team {
  return defineTeam({ id: 'team', name: 'Team', agents, scheduler })
}

async function say(team: Team, text: string): Promise<Task> {
  const turn = createTurn(text)
  return foldEvents(turn, await runTurn(team, turn))
}

function answerOf(task: Task): string {
  return textOf((task.artifacts ?? []).flatMap((artifact) => artifact.parts))
}

describe('determineNextRecipient', () => {
  test('S000-84: sees each answer with its sender, until it names the user', async () => {
    const hops: [string, string | undefined][] = []
    const scheduler = fromNextRecipient({
      determineNextRecipient({ message, sender }: RecipientHop) {
        hops.push([textOf(message.parts), sender])
        if (sender === undefined) return 'a'
        return sender === 'a' ? 'b' : 'user'
      },
    })
    const team = teamOf({ a: member('a'), b: member('b') }, scheduler)
    expect(answerOf(await say(team, 'x'))).toBe('b(a(x))')
    expect(hops).toEqual([
      ['x', undefined],
      ['a(x)', 'a'],
      ['b(a(x))', 'b'],
    ])
  })

  test('fails a run that has no end, and one that nobody answers', async () => {
    const endless = fromNextRecipient({ determineNextRecipient: () => 'a' }, { maxHops: 3 })
    const a = member('a')
    await expect(runTurn(teamOf({ a }, endless), createTurn('x'))).rejects.toThrow(
      'No answer after 3 members',
    )
    expect(a.asked).toHaveLength(3)
    const nobody = fromNextRecipient({ determineNextRecipient: () => undefined })
    await expect(runTurn(teamOf({ a }, nobody), createTurn('x'))).rejects.toThrow('names nobody')
  })
})
