import { expect, test } from 'vitest'
import { type AgentFunction, defineAgent } from '../../src/agents/function.ts'
import { asTool } from '../../src/agents/tools.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createTurn } from '../fixtures/turn.ts'

async function call(answer: AgentFunction, message: unknown = 'hi') {
  const tool = await asTool(defineAgent({ name: 'Head Writer', description: 'Writes' }, answer))
  const turn = createTurn('outer')
  const args = { message: message as string } // what a model sends is not known to be a text
  const result = await tool.execute(args, { signal: turn.signal, turn })
  return { tool, turn, result }
}

test('an agent is a tool by its id and words', async () => {
  const { tool, result } = await call((message) => `got ${textOf(message.parts)}`)
  expect(tool).toMatchObject({ name: 'head-writer', description: 'Writes' })
  expect(result).toBe('got hi')
})

test.each<[string, AgentFunction, string]>([
  ['a message', (_, turn) => turn.reply('said'), 'said'],
  [
    'chunks, parts and data',
    async function* () {
      yield 'a'
      yield { text: 'b' }
      yield { data: 1 }
    },
    'ab1',
  ],
  [
    'an artifact and progress',
    async function* (_, turn) {
      yield turn.status('TASK_STATE_WORKING', 'busy')
      yield turn.artifact({ artifactId: 'x', parts: [{ text: 'made' }] })
    },
    'made',
  ],
  [
    'a question',
    async function* (_, turn) {
      yield turn.ask('Which?')
    },
    'Which?',
  ],
  ['nothing', () => undefined, ''],
])('%s becomes text', async (_, answer, expected) => {
  expect((await call(answer)).result).toBe(expected)
})

test('a failure is thrown with its words', async () => {
  const failing: AgentFunction = async function* (_, turn) {
    yield turn.status('TASK_STATE_FAILED', 'no ink')
  }
  await expect(call(failing)).rejects.toThrow('no ink')
})

test('arguments without a message are refused', async () => {
  await expect(call(() => 'x', 7)).rejects.toThrow('message must be a text')
})

test('the agent works in the caller’s turn, its state apart', async () => {
  const { turn } = await call(async (_, inner) => {
    await inner.save('key', 1)
    return inner.step('once', () => 'done')
  })
  expect([...turn.saved.keys()]).toEqual(['head-writer:hi/key'])
  expect([...turn.steps.keys()]).toEqual(['head-writer:hi/once'])
})
