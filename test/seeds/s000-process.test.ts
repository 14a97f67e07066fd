import { describe, expect, expectTypeOf, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { userMessage } from '../../src/index.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { Message } from '../../src/protocol/types.ts'
import { defineTeam, type Team } from '../../src/team/team.ts'
import { createTurn, foldEvents, runTurn } from '../fixtures/turn.ts'

const said = (message: Message): string => textOf(message.parts)
const echo = (prefix: string): Agent =>
  defineAgent({ name: prefix }, (message) => `${prefix} ${said(message)}`)

function pipeline(agents: Readonly<Record<string, Agent>>): Team {
  const steps = Object.keys(agents).map((agentId) => ({ agentId }))
  return defineTeam({ id: 'team', name: 'Team', agents, scheduler: { type: 'workflow', steps } })
}

describe('S000-6: a team in a program, without a server', () => {
  test('answers a message with a message', async () => {
    const team = pipeline({ first: echo('one'), second: echo('two') })
    const asked = userMessage('Write a story', { contextId: 'c' })
    const answer = await team.process(asked)
    expect(answer).toEqual({
      messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      role: 'ROLE_AGENT',
      parts: [{ text: 'two one Write a story' }],
      contextId: 'c',
    })
    expectTypeOf(answer).toEqualTypeOf<Message>()
  })

  test('keeps the parts that are not text, and asks what its members ask', async () => {
    const data = { data: { depth: 3 }, mediaType: 'application/json' }
    const drawer = defineAgent({ name: 'Drawer' }, (_message, turn) => turn.reply([data]))
    expect((await pipeline({ drawer }).process(userMessage('go'))).parts).toEqual([data])
    const asker = defineAgent({ name: 'Asker' }, async function* (_message, turn) {
      yield turn.ask('Which dragon?')
    })
    expect(said(await pipeline({ asker }).process(userMessage('go')))).toBe('Which dragon?')
  })

  test('S000-11: a failure is thrown with its context', async () => {
    const broken = defineAgent({ name: 'Broken' }, () => {
      throw new Error('secret detail')
    })
    const failure = pipeline({ broken }).process(userMessage('go'))
    await expect(failure).rejects.toMatchObject({
      code: 'processingError',
      cause: { message: 'Team "team": agent "broken" failed', cause: { message: 'secret detail' } },
    })
    const refusing = defineAgent({ name: 'Refusing' }, async function* (_message, turn) {
      yield turn.status('TASK_STATE_REJECTED', 'Not this')
    })
    await expect(pipeline({ refusing }).process(userMessage('go'))).rejects.toMatchObject({
      cause: { cause: { message: 'Not this' } },
    })
  })

  test('a nested team answers through its parent, and many at once do not mix', async () => {
    const inner = pipeline({ a: echo('inner') })
    const outer = pipeline({ inner, b: echo('outer') })
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => outer.process(userMessage(String(i)))),
    )
    expect(answers.map(said)).toEqual(answers.map((_, i) => `outer inner ${i}`))
  })

  test('the streaming form stays beside it', async () => {
    const team = pipeline({ first: echo('one') })
    const turn = createTurn('hi')
    const { artifacts } = foldEvents(turn, await runTurn(team, turn))
    expect(textOf(artifacts?.[0]?.parts ?? [])).toBe('one hi')
  })

  test('S000-2, S000-7: agentManager and healthCheck are names too', async () => {
    const sick = { ...echo('sick'), health: async () => ({ healthy: false, reason: 'tired' }) }
    const team = pipeline({ well: echo('well'), sick })
    expect(team.agentManager).toBe(team.manager)
    expect(await team.healthCheck()).toEqual(await team.health())
    expect(await team.healthCheck()).toMatchObject({ healthy: false })
  })
})
