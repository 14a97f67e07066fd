import { describe, expect, test } from 'vitest'
import type { Agent, Turn } from '../../../src/agents/agent.ts'
import type { Tool, ToolUser } from '../../../src/agents/tools.ts'
import {
  clientRoutingExtension,
  toUsageMetadata,
  usageOf,
} from '../../../src/protocol/extensions.ts'
import { textOf } from '../../../src/protocol/task.ts'
import type { Json, JsonObject, Message, Task } from '../../../src/protocol/types.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import type { BudgetConfig } from '../../../src/team/config.ts'
import { defineTeam, type Team } from '../../../src/team/team.ts'
import { member } from '../../fixtures/members.ts'
import { createTurn, foldEvents, runTurn, type ScriptedTurn } from '../../fixtures/turn.ts'

function supervise(agents: Record<string, Agent>, budget?: BudgetConfig): Team {
  return defineTeam({
    id: 'team',
    name: 'Team',
    agents,
    scheduler: { type: 'supervisor', supervisorAgentId: 'boss' },
    ...(budget && { budget }),
  })
}

async function run(team: Team, turn: ScriptedTurn): Promise<Task> {
  return foldEvents(turn, await runTurn(team, turn))
}

async function answer(team: Team, text: string): Promise<string> {
  const task = await run(team, createTurn(text))
  return textOf((task.artifacts ?? []).flatMap((artifact) => artifact.parts))
}

/** A supervisor that takes its decisions from a list, one per round, and then reports what it heard last. */
function scripted(...decisions: Json[]) {
  let round = 0
  return member('boss', (text) => {
    const decision = decisions[round++]
    return decision === undefined
      ? `report: ${text.split('\n\n<team>')[0]}`
      : JSON.stringify(decision)
  })
}

const routing = { details: { extensions: [{ uri: clientRoutingExtension }] } }

function routed(turn: Turn, recipient: Json, text = ''): Message {
  return { ...turn.reply(text), metadata: { [clientRoutingExtension]: { recipient } } }
}

describe('a supervisor', () => {
  test('R-W6: delegates, hears the answer and then answers itself', async () => {
    const boss = scripted({ delegate: { agent_id: 'coder', message: 'write it' } })
    const coder = member('coder')
    expect(await answer(supervise({ boss, coder }), 'I need code')).toBe(
      'report: coder answered:\ncoder(write it)\n',
    )
    expect(coder.asked).toEqual(['write it'])
    expect(boss.asked[0]).toContain('- coder (coder agent): Does what coder does. Can do: coder.')
  })

  test('asks several members at once, in several rounds', async () => {
    const boss = scripted(
      {
        delegate: [
          { agent_id: 'a', message: '1' },
          { agent_id: 'b', message: '2' },
        ],
      },
      { delegate: { agent_id: 'a', message: '3' } },
    )
    const [a, b] = [member('a'), member('b')]
    expect(await answer(supervise({ boss, a, b }), 'x')).toBe('report: a answered:\na(3)\n')
    expect(boss.asked[1]).toContain('a answered:\na(1)\nb answered:\nb(2)\n')
    expect(b.asked).toEqual(['2'])
  })

  test('that names the user beside a member asks the member, and is not done', async () => {
    const boss = scripted({
      delegate: [
        { agent_id: 'user', message: 'I am at it' },
        { agent_id: 'a', message: '1' },
      ],
    })
    const a = member('a')
    expect(await answer(supervise({ boss, a }), 'x')).toBe('report: a answered:\na(1)\n')
    expect(a.asked).toEqual(['1'])
  })

  test('whose answer holds no decision ends the run, streamed as it comes', async () => {
    const boss = member('boss', async function* () {
      yield 'Hel'
      yield 'lo'
    })
    const turn = createTurn('hi')
    const events = await runTurn(supervise({ boss }), turn)
    const chunks = events.filter((event) => typeof event === 'object' && 'artifactUpdate' in event)
    expect(chunks).toHaveLength(2)
  })

  test('never shows the caller a decision, fenced or wrapped in words', async () => {
    let round = 0
    const boss = member('boss', () =>
      round++ === 0
        ? 'Sure, I ask the coder.\n```json\n{"delegate": {"agent_id": "coder", "message": "go"}}\n```'
        : 'all done',
    )
    expect(await answer(supervise({ boss, coder: member('coder') }), 'x')).toBe('all done')
  })

  test('may wrap its decision in other JSON, and in fences that never close', async () => {
    const decision = '{"delegate": {"agent_id": "coder", "message": "write it"}}'
    const words = [`Sources: [1], {"a": 1}. \`\`\`${'\n'.repeat(5000)}${decision}`]
    const boss = member(
      'boss',
      (text) => words.shift() ?? `heard ${text.includes('coder answered')}`,
    )
    expect(await answer(supervise({ boss, coder: member('coder') }), 'code')).toBe('heard true')
  })

  test.each([
    'To delegate, answer {"delegate": {"agent_id": "coder", "message": "go"}}. I shall not.',
    'An example:\n```json\n{"delegate": {"agent_id": "coder", "message": "go"}}\n```\nIs it clear?',
  ])('does not delegate where its prose merely contains a decision: %s', async (words) => {
    const coder = member('coder')
    expect(await answer(supervise({ boss: member('boss', () => words), coder }), 'x')).toBe(words)
    expect(coder.turns).toHaveLength(0)
  })

  test('that streams a decision under a name of its own shows none of it in the end', async () => {
    let round = 0
    const boss = member('boss', async function* (_text, turn) {
      const artifactId = `made-up-${++round}`
      const words =
        round === 1 ? ['I ask. ', '{"delegate": {"agent_id": "coder", "message": "go"}}'] : ['done']
      for (const [index, text] of words.entries())
        yield turn.artifact({ artifactId, parts: [{ text }] }, { append: index > 0 })
    })
    expect(await answer(supervise({ boss, coder: member('coder') }), 'x')).toBe('done')
  })

  test('that declares the routing extension gets cards and sender, and may decide in either form', async () => {
    for (const recipient of ['coder', { type: 'agent', id: 'coder' }]) {
      const heard: JsonObject[] = []
      const boss = member(
        'boss',
        (_text, turn, message) => {
          const said = message.metadata?.[clientRoutingExtension] as JsonObject // the team's own metadata
          heard.push(said)
          return heard.length === 1
            ? routed(turn, recipient, 'do it')
            : routed(turn, 'user', 'done')
        },
        routing,
      )
      const coder = member('coder')
      expect(await answer(supervise({ boss, coder }), 'x')).toBe('done')
      expect(coder.asked).toEqual(['do it'])
      expect(heard).toEqual([
        {
          agentCards: [
            {
              id: 'coder',
              name: 'coder agent',
              description: 'Does what coder does',
              capabilities: ['coder'],
              supportsClientRouting: false,
            },
          ],
          sender: { type: 'user' },
        },
        expect.objectContaining({ sender: { type: 'agent', id: 'coder' } }),
      ])
      expect(boss.asked[0]).toBe('x')
    }
  })

  test('gets its message with what else it says, and cards that tell who routes', async () => {
    const heard: Message[] = []
    const boss = member(
      'boss',
      (_text, turn, message) => {
        heard.push(message)
        return routed(turn, 'user', 'done')
      },
      routing,
    )
    const by = (capabilities: string[], details?: object) =>
      member('m', undefined, { capabilities, ...(details && { details }) })
    const agents = {
      boss,
      plain: by(['sing']),
      able: by([clientRoutingExtension, 'sing']),
      declared: by(['sing'], routing.details),
      denied: by([clientRoutingExtension], { extensions: [{ uri: 'urn:other' }] }),
    }
    const message = {
      ...({ messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } as const),
      ...{ metadata: { kept: 1 }, extensions: ['urn:x'] },
    }
    await run(supervise(agents), createTurn(message))
    expect(heard[0]?.extensions).toEqual(['urn:x', clientRoutingExtension])
    expect(heard[0]?.metadata?.kept).toBe(1)
    const told = heard[0]?.metadata?.[clientRoutingExtension] as {
      readonly agentCards: JsonObject[]
    } // the team's own
    expect(
      told.agentCards.map(({ id, capabilities, supportsClientRouting: routes }) => [
        id,
        capabilities,
        routes,
      ]),
    ).toEqual([
      ['plain', ['sing'], false],
      ['able', ['sing'], true],
      ['declared', ['sing'], true],
      ['denied', [], false],
    ])
  })

  test('of whom several are asked hears it from the team', async () => {
    const senders: unknown[] = []
    const boss = member(
      'boss',
      (_text, turn, message) => {
        const told = message.metadata?.[clientRoutingExtension] as JsonObject // the team's own metadata
        senders.push(told.sender)
        const delegate = ['a', 'b'].map((agent_id) => ({ agent_id, message: 'go' }))
        return senders.length === 1 ? turn.reply([{ data: { delegate } }]) : 'done'
      },
      routing,
    )
    expect(await answer(supervise({ boss, a: member('a'), b: member('b') }), 'x')).toBe('done')
    expect(senders).toEqual([{ type: 'user' }, { type: 'user' }])
  })

  test('that names a member without words for it passes on what it was asked', async () => {
    let round = 0
    const boss = member('boss', (_text, turn) =>
      round++ === 0 ? turn.reply([{ data: { delegate: { agent_id: 'coder' } } }]) : 'done',
    )
    const coder = member('coder')
    expect(await answer(supervise({ boss, coder }), 'x')).toBe('done')
    expect(coder.asked).toEqual(['x'])
    expect(coder.turns[0]?.message.parts).toEqual([{ text: 'x' }])
  })

  test.each([
    '{"delegate": {"message": "go"}}',
    '{"delegate": {"agent_id": 5, "message": "go"}}',
    '{"delegate": "coder"}',
    '{"delegate": []}',
  ])('that names nobody has answered: %s', async (words) => {
    const coder = member('coder')
    expect(await answer(supervise({ boss: member('boss', () => words), coder }), 'x')).toBe(words)
    expect(coder.asked).toEqual([])
  })

  test('says once why it delegates, also where a member then asks the user', async () => {
    let round = 0
    const boss = member('boss', (_text, turn) => {
      if (round++ > 0) return 'done'
      const say = { recipient: 'painter', reason: 'it paints' }
      return { ...turn.reply('go'), metadata: { [clientRoutingExtension]: say } }
    })
    const painter = member('painter', (text, turn) => (turn.task ? text : ask(turn, 'Which?')))
    const team = supervise({ boss, painter })
    const first = createTurn('x')
    await run(team, first)
    const second = createTurn('red', { saved: first.saved, number: 2 })
    await run(team, second)
    const decisions = [...first.traces, ...second.traces].filter(({ type }) => type === 'decision')
    expect(decisions).toEqual([
      {
        type: 'decision',
        team: 'team',
        member: 'boss',
        recipients: ['painter'],
        reason: 'it paints',
      },
    ])
  })

  test.each([
    ['Sings.', ['sing'], 'm (m agent): Sings. Can do: sing.'],
    ['Sings', ['sing', clientRoutingExtension], 'm (m agent): Sings. Can do: sing.'],
    [' ', ['sing'], 'm (m agent). Can do: sing.'],
    [' Sings ', [], 'm (m agent): Sings'],
  ])('reads of a member that it is %j and can do %j', async (description, capabilities, line) => {
    const boss = member('boss', () => 'done')
    const m = member('m', undefined, { description, capabilities })
    await answer(supervise({ boss, m }), 'x')
    expect(boss.asked[0]?.split('\n')).toContain(`- ${line}`)
  })

  test('decides by a data part too', async () => {
    let round = 0
    const boss = member('boss', (_text, turn) =>
      round++ === 0
        ? turn.reply([{ data: { delegate: { agent_id: 'coder', message: 'go' } } }])
        : 'done',
    )
    const coder = member('coder')
    expect(await answer(supervise({ boss, coder }), 'x')).toBe('done')
    expect(coder.asked).toEqual(['go'])
  })

  test('is told of a member that fails and of one that does not exist', async () => {
    const boss = scripted(
      { delegate: { agent_id: 'broken', message: 'go' } },
      { delegate: { agent_id: 'ghost', message: 'go' } },
    )
    const broken = member('broken', () => {
      throw new Error('secret')
    })
    expect(await answer(supervise({ boss, broken }), 'x')).toBe(
      'report: There is no member "ghost". Members: broken.\n',
    )
    expect(boss.asked[1]).toContain(
      'broken could not answer:\nAn agent of the team could not answer',
    )
    expect(boss.asked.join()).not.toContain('secret')
  })

  test('knows what it said before in the run, and the conversation with the caller', async () => {
    const boss = scripted({ delegate: { agent_id: 'coder', message: 'go' } })
    const turn = createTurn('x', { conversation: [] })
    await run(supervise({ boss, coder: member('coder') }), turn)
    const history = boss.turns[1]?.history ?? []
    expect(history.map(({ role }) => role)).toEqual(['ROLE_USER', 'ROLE_AGENT'])
    expect(await boss.turns[1]?.conversation(1)).toEqual(history.slice(-1))
  })

  test('hears of the conversation as much as it asks for, and its own message once', async () => {
    const heard: string[][] = []
    const boss = member('boss', async (_text, turn) => {
      for (const limit of [0, 1, 2, 9])
        heard.push((await turn.conversation(limit)).map(({ parts }) => textOf(parts)))
      return 'done'
    })
    const message = { messageId: 'm3', role: 'ROLE_USER', parts: [{ text: 'now' }] } as const
    const earlier = ['one', 'two'].map((text) => ({
      ...message,
      messageId: text,
      parts: [{ text }],
    }))
    await run(supervise({ boss }), createTurn(message, { conversation: [...earlier, message] }))
    expect(heard).toEqual([[], ['two'], ['one', 'two'], ['one', 'two']])
  })

  test('alone speaks with the caller: its members hear nothing of that, and have no output modes', async () => {
    const seen: unknown[] = []
    const boss = scripted({ delegate: { agent_id: 'coder', message: 'go' } })
    const coder = member('coder', async (_text, turn) => {
      seen.push(turn.acceptedOutputModes, await turn.conversation(9))
      return 'done'
    })
    const earlier = { messageId: 'm0', role: 'ROLE_USER', parts: [{ text: 'before' }] } as const
    const setup = { conversation: [earlier], acceptedOutputModes: ['text/plain'] }
    await run(supervise({ boss, coder }), createTurn('x', setup))
    expect(seen).toEqual([[], []])
    expect(boss.turns[0]?.acceptedOutputModes).toEqual(['text/plain'])
  })

  test('that never answers is stopped', async () => {
    const boss = member('boss', () => '{"delegate": {"agent_id": "a", "message": "again"}}')
    await expect(answer(supervise({ boss, a: member('a') }), 'x')).rejects.toThrow(
      'no answer after 10 rounds',
    )
  })

  test('keeps to the run’s budget of delegations and tokens', async () => {
    const costly = member('boss', async function* (_text, turn) {
      yield '{"delegate": {"agent_id": "a", "message": "again"}}'
      const usage = toUsageMetadata({ inputTokens: 40, outputTokens: 10 })
      yield { statusUpdate: { ...completed(turn), metadata: usage } }
    })
    const a = member('a')
    await expect(answer(supervise({ boss: costly, a }, { maxHops: 3 }), 'x')).rejects.toThrow(
      'budget of 3 delegations',
    )
    await expect(
      answer(supervise({ boss: costly, a }, { maxTokens: 50 }), 'x'),
    ).rejects.toMatchObject({
      code: 'processingError',
    })
  })

  test('a run tells how many tokens its members used', async () => {
    const boss = member('boss', async function* (_text, turn) {
      yield 'done'
      const usage = toUsageMetadata({ inputTokens: 40, outputTokens: 10 })
      yield { statusUpdate: { ...completed(turn), metadata: usage } }
    })
    const events = await runTurn(supervise({ boss }), createTurn('x'))
    const last = events.at(-1)
    const metadata =
      typeof last === 'object' && 'statusUpdate' in last ? last.statusUpdate.metadata : {}
    expect(usageOf(metadata)).toEqual({ inputTokens: 40, outputTokens: 10 })
  })
})

describe('a supervisor that takes tools', () => {
  function toolUser(use: (tools: readonly Tool[], turn: Turn) => Promise<string>): ToolUser {
    return {
      ...member('boss'),
      acceptsTools: true,
      process: (_message, turn, tools = []) => use(tools, turn),
    }
  }

  test('delegates by calling them', async () => {
    const coder = member('coder')
    const boss = toolUser(async (tools, turn) => {
      expect(tools.map(({ name }) => name)).toEqual(['delegate_to_coder'])
      const result = await tools[0]?.execute({ message: 'go' }, { signal: turn.signal, turn })
      return `model says ${result}`
    })
    const turn = createTurn('x')
    await run(supervise({ boss, coder }), turn)
    expect(await answer(supervise({ boss, coder }), 'x')).toBe('model says coder(go)')
    expect([...turn.steps.keys()]).toEqual(['round-1/coder-1:coder', 'round-1:boss'])
  })

  test('gets data beside the text, and must say something', async () => {
    const coder = member('coder', (_text, turn) => turn.reply([{ text: 'two' }, { data: [1, 2] }]))
    const boss = toolUser(async (tools, turn) => {
      const use = async (message: Json) =>
        tools[0]?.execute({ message }, { signal: turn.signal, turn })
      const said = await Promise.allSettled([use('go'), use(''), use(5)])
      return JSON.stringify(
        said.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason))),
      )
    })
    expect(JSON.parse(await answer(supervise({ boss, coder }), 'x'))).toEqual([
      { text: 'two', data: [[1, 2]] },
      'Error: message is missing',
      'Error: message is missing',
    ])
  })

  test('is told of a member that fails', async () => {
    const coder = member('coder', () => {
      throw new Error('secret')
    })
    const boss = toolUser(async (tools, turn) => {
      const result = await tools[0]?.execute({ message: 'go' }, { signal: turn.signal, turn })
      return `model says ${result}`
    })
    expect(await answer(supervise({ boss, coder }), 'x')).toBe(
      'model says An agent of the team could not answer',
    )
  })

  test('stops when a member asks the user, and the answer reaches that member', async () => {
    const coder = member('coder', (text, turn) =>
      turn.task ? `written in ${text}` : ask(turn, 'Which language?'),
    )
    const boss = toolUser(async (tools, turn) => {
      const context = { signal: turn.signal, turn }
      const result = await tools[0]?.execute({ message: 'go' }, context)
      return `model says ${result}`
    })
    const team = supervise({ boss, coder })
    const first = createTurn('x')
    expect((await run(team, first)).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const second = createTurn('Rust', { saved: first.saved, number: 2 })
    expect(textOf((await run(team, second)).artifacts?.[0]?.parts ?? [])).toBe(
      'model says written in Rust',
    )
  })

  test('asks the user when the members that it has asked at once have answered, each of them once', async () => {
    const gate = createDeferred<void>()
    const asker = member('asker', (text, turn) => {
      if (turn.task) return `asker: ${text}`
      // The other one is still at work when the question comes up.
      setImmediate(() => gate.resolve())
      return ask(turn, 'Which language?')
    })
    const slow = member('slow', async () => {
      await gate.promise
      await new Promise((resolve) => setImmediate(resolve))
      return 'slow: done'
    })
    const boss = toolUser(async (tools, turn) => {
      const context = { signal: turn.signal, turn }
      const results = tools.map((tool) => tool.execute({ message: 'go' }, context))
      return (await Promise.all(results)).join(', ')
    })
    const team = supervise({ boss, asker, slow })
    const first = createTurn('x')
    expect((await run(team, first)).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const second = createTurn('Rust', { saved: first.saved, number: 2 })
    const [artifact] = (await run(team, second)).artifacts ?? []
    expect(textOf(artifact?.parts ?? [])).toBe('asker: Rust, slow: done')
    expect(slow.asked).toEqual(['go'])
  })
})

async function* ask(turn: Turn, question: string) {
  yield turn.ask(question)
}

function completed(turn: Turn) {
  const draft = turn.status('TASK_STATE_COMPLETED')
  if (!('statusUpdate' in draft)) throw new Error('not a status')
  return draft.statusUpdate
}
