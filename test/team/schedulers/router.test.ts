import { describe, expect, test } from 'vitest'
import type { Agent, Turn } from '../../../src/agents/agent.ts'
import { clientRoutingExtension } from '../../../src/protocol/extensions.ts'
import { textOf } from '../../../src/protocol/task.ts'
import type { Json, JsonObject, Message } from '../../../src/protocol/types.ts'
import { defineTeam, type Team } from '../../../src/team/team.ts'
import { runTeam } from '../../../src/testing/index.ts'
import { member, type ScriptedMember } from '../../fixtures/members.ts'
import { createTurn, foldEvents, runTurn } from '../../fixtures/turn.ts'

function route(agents: Record<string, Agent>, maxRoutingHops?: number): Team {
  return defineTeam({
    id: 'team',
    name: 'Team',
    agents,
    scheduler: {
      type: 'router',
      defaultAgentId: 'front',
      ...(maxRoutingHops !== undefined && { maxRoutingHops }),
    },
  })
}

async function answer(team: Team, text: string): Promise<string> {
  const turn = createTurn(text)
  const task = foldEvents(turn, await runTurn(team, turn))
  return textOf((task.artifacts ?? []).flatMap((artifact) => artifact.parts))
}

type Decide = (
  text: string,
  told: JsonObject,
) => { readonly text: string; readonly say?: JsonObject }

/** A member that knows the extension. */
function aware(id: string, decide: Decide): ScriptedMember {
  return member(
    id,
    (text, turn: Turn, message: Message) => {
      const told = message.metadata?.[clientRoutingExtension] as JsonObject // the team's own metadata
      const { text: words, say } = decide(text, told)
      return { ...turn.reply(words), ...(say && { metadata: { [clientRoutingExtension]: say } }) }
    },
    { details: { extensions: [{ uri: clientRoutingExtension }] } },
  )
}

function cards(told: JsonObject): unknown[] {
  const list = told.agentCards as readonly JsonObject[] // as the router writes it
  return list.map(({ id }) => id)
}

describe('AT-21: the router, worker and supervisor of the origin', () => {
  const router = aware('front', (text) =>
    text.includes('help')
      ? { text, say: { recipient: { type: 'agent', id: 'worker' }, handoffs: ['supervisor'] } }
      : { text: `You are welcome: ${text}`, say: { recipient: { type: 'user' } } },
  )
  const worker = member('worker', (text) => `[Worker] Completed task: ${text}`)
  const supervisor = member('supervisor')
  const team = route({ front: router, worker, supervisor })

  test('"I need help with a task" goes to the worker', async () => {
    expect(await answer(team, 'I need help with a task')).toBe(
      '[Worker] Completed task: I need help with a task',
    )
    expect(supervisor.asked).toEqual([])
  })

  test('"Thank you!" goes back to the user', async () => {
    expect(await answer(team, 'Thank you!')).toBe('You are welcome: Thank you!')
  })
})

describe('who goes on', () => {
  test('R-W16: a recipient may be a word or an object, and "sender" goes back', async () => {
    const recipients: Json[] = ['helper', { type: 'agent', id: 'helper' }]
    for (const recipient of recipients) {
      const senders: unknown[] = []
      const front = aware('front', (text, told) => {
        senders.push(told.sender)
        return text === 'x' ? { text: 'please', say: { recipient } } : { text: `final ${text}` }
      })
      const helper = aware('helper', (text) => ({
        text: `helped ${text}`,
        say: { recipient: senders.length === 1 ? 'sender' : { type: 'sender' } },
      }))
      expect(await answer(route({ front, helper }), 'x')).toBe('final helped please')
      expect(senders).toEqual([{ type: 'user' }, { type: 'agent', id: 'helper' }])
    }
  })

  test('without a decision the default agent answers the user', async () => {
    const front = aware('front', (text) => ({ text: `front ${text}` }))
    expect(await answer(route({ front }), 'x')).toBe('front x')
  })

  test('without a decision another member that knows the extension goes back to the default agent', async () => {
    const front = aware('front', (text) =>
      text === 'x' ? { text: 'q', say: { recipient: 'other' } } : { text: `front ${text}` },
    )
    const other = aware('other', (text) => ({ text: `other ${text}` }))
    expect(await answer(route({ front, other }), 'x')).toBe('front other q')
  })

  test('a recipient that is no member counts as no decision', async () => {
    const front = aware('front', () => ({ text: 'me then', say: { recipient: 'ghost' } }))
    expect(await answer(route({ front }), 'x')).toBe('me then')
  })

  test('a member that does not know the extension may still delegate, and sees no peers', async () => {
    const front = member('front', (text) =>
      text === 'x' ? '{"delegate": {"agent_id": "other", "message": "do it"}}' : text,
    )
    const other = member('other')
    expect(await answer(route({ front, other }), 'x')).toBe('other(do it)')
    expect(front.turns[0]?.message.metadata).toBeUndefined()
  })

  test('a decision in a block of code is not heard by the caller while it is being written', async () => {
    const front = member('front', async function* () {
      yield '```json\n{"delegate": '
      yield '{"agent_id": "other", "message": "do it"}}\n```'
    })
    const { text, events } = await runTeam(route({ front, other: member('other') }), 'x')
    expect(text).toBe('other(do it)')
    const artifacts = events.filter((event) => 'artifactUpdate' in event)
    expect(JSON.stringify(artifacts)).not.toContain('delegate')
  })

  test('handoffs filter the peers of the next hop, and only of that', async () => {
    const seen: unknown[] = []
    const front = aware('front', (text, told) => {
      seen.push(cards(told))
      return text === 'x'
        ? { text: 'a', say: { recipient: 'b', handoffs: ['c'] } }
        : { text: 'end', say: { recipient: 'user' } }
    })
    const b = aware('b', (_text, told) => {
      seen.push(cards(told))
      return { text: 'from b', say: { recipient: 'sender' } }
    })
    expect(await answer(route({ front, b, c: member('c') }), 'x')).toBe('end')
    expect(seen).toEqual([['b', 'c'], ['c'], ['b', 'c']])
  })
})

describe('what a decision says', () => {
  const toOther = '{"delegate": {"agent_id": "other", "message": "by words"}}'

  test.each<readonly [string, string, JsonObject, string]>([
    ['the extension comes before the words', toOther, { recipient: 'third' }, `third(${toOther})`],
    ['an empty recipient says nothing', toOther, { recipient: '' }, 'other(by words)'],
    ['what is no recipient says nothing', 'me', { recipient: { type: 'agent' } }, 'me'],
    ['the sender of the first message is the user', 'me', { recipient: 'sender' }, 'me'],
    [
      'a message goes instead of the words',
      'me',
      { recipient: 'third', message: 'go' },
      'third(go)',
    ],
    ['a message that is no text does not', 'me', { recipient: 'third', message: 5 }, 'third(me)'],
    ['who takes over gets what came', 'me', { recipient: 'third', takesOver: true }, 'third(x)'],
    [
      'nobody takes over by other words',
      'me',
      { recipient: 'third', takesOver: 'yes' },
      'third(me)',
    ],
  ])('%s', async (_what, text, say, expected) => {
    const front = aware('front', () => ({ text, say }))
    expect(
      await answer(route({ front, other: member('other'), third: member('third') }), 'x'),
    ).toBe(expected)
  })

  test('"sender" may be an object, and is who passed the message on', async () => {
    const front = aware('front', (text) => ({ text, say: { recipient: 'a' } }))
    const a = aware('a', (text) =>
      text === 'x'
        ? { text: 'to b', say: { recipient: 'b' } }
        : { text: `a ${text}`, say: { recipient: 'user' } },
    )
    const b = aware('b', () => ({ text: 'back', say: { recipient: { type: 'sender' } } }))
    expect(await answer(route({ front, a, b }), 'x')).toBe('a back')
  })

  test('handoffs may stand alone: they hold for the default agent', async () => {
    const seen: unknown[] = []
    const front = aware('front', (text, told) => {
      seen.push(cards(told))
      return text === 'x' ? { text: 'a', say: { recipient: 'b' } } : { text: 'end' }
    })
    const b = aware('b', () => ({ text: 'from b', say: { handoffs: ['c', 5] } }))
    expect(await answer(route({ front, b, c: member('c') }), 'x')).toBe('end')
    expect(seen).toEqual([['b', 'c'], ['c']])
  })

  test('its reason is in the trace, once, also where a member then asks the user', async () => {
    const front = aware('front', () => ({
      text: 'go',
      say: { recipient: 'painter', reason: 'it paints' },
    }))
    const painter = member('painter', async function* (text, turn) {
      yield turn.task ? `painted ${text}` : turn.ask('Which colour?')
    })
    const run = await runTeam(route({ front, painter }), 'x', { answers: ['red'] })
    expect(run.text).toBe('painted red')
    expect(run.trace.filter(({ type }) => type === 'decision')).toMatchObject([
      { member: 'front', recipients: ['painter'], reason: 'it paints' },
    ])
  })

  test('the words beside it are not heard by the caller', async () => {
    const front = member(
      'front',
      async function* (_text, turn) {
        yield 'I pass it on.'
        yield {
          statusUpdate: {
            status: { state: 'TASK_STATE_COMPLETED' },
            metadata: { [clientRoutingExtension]: { recipient: 'other' } },
          },
        }
        void turn
      },
      { details: { extensions: [{ uri: clientRoutingExtension }] } },
    )
    const { text, events } = await runTeam(route({ front, other: member('other') }), 'x')
    expect(text).toBe('other(I pass it on.)')
    expect(events.filter((event) => 'artifactUpdate' in event)).toHaveLength(1)
  })
})

describe('loops', () => {
  test('words with a file beside them are other words', async () => {
    const front = aware('front', (text, told) => {
      const isFirst = (told.sender as JsonObject).type === 'user' // as the router writes it
      return isFirst ? { text: 'ping', say: { recipient: 'other' } } : { text: `end ${text}` }
    })
    const other = member('other', (_text, turn) => ({
      ...turn.reply([{ text: 'x' }, { url: 'https://x/y' }]),
      metadata: { [clientRoutingExtension]: { recipient: 'front' } },
    }))
    expect(await answer(route({ front, other }), 'x')).toBe('end x')
  })

  test('a member may not pass a message to itself', async () => {
    const front = aware('front', () => ({ text: 'x', say: { recipient: 'front' } }))
    await expect(answer(route({ front }), 'x')).rejects.toThrow('to itself')
  })

  test('the same words may not go round in a circle', async () => {
    const front = aware('front', () => ({ text: 'ping', say: { recipient: 'other' } }))
    const other = aware('other', () => ({ text: 'pong', say: { recipient: 'sender' } }))
    await expect(answer(route({ front, other }), 'x')).rejects.toThrow('in a circle')
    expect(other.asked).toHaveLength(1)
  })

  test('there are at most ten hops, or as many as the team says', async () => {
    let n = 0
    const front = aware('front', () => ({ text: `${n++}`, say: { recipient: 'other' } }))
    const other = aware('other', () => ({ text: `${n++}`, say: { recipient: 'front' } }))
    await expect(answer(route({ front, other }), 'x')).rejects.toThrow(
      'Maximum routing hops exceeded (10)',
    )
    expect(n).toBe(10)
    await expect(answer(route({ front, other }, 3), 'x')).rejects.toThrow('exceeded (3)')
  })
})
