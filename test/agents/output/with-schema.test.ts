import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Agent, AgentReply, Turn } from '../../../src/agents/agent.ts'
import { type AgentFunction, defineAgent } from '../../../src/agents/function.ts'
import { withOutputSchema } from '../../../src/agents/output/with-schema.ts'
import { toDataSchema } from '../../../src/agents/schema.ts'
import { askAlone } from '../../../src/agents/wrap.ts'
import {
  clientRoutingExtension,
  toToolCallsMetadata,
  toUsageMetadata,
  type Usage,
  usageOf,
} from '../../../src/protocol/extensions.ts'
import { textOf, userMessage } from '../../../src/protocol/task.ts'
import type { Part } from '../../../src/protocol/types.ts'
import { createTurn, foldEvents, runTurn } from '../../fixtures/turn.ts'

const schema = toDataSchema(z.object({ score: z.number() }), { at: 'outputSchema' })

const data = { data: { score: 1 }, mediaType: 'application/json' }

function checked(process: AgentFunction, maxOutputRetries?: number): Agent {
  return withOutputSchema(defineAgent({ name: 'Judge' }, process), schema, { maxOutputRetries })
}

/** Says these one after the other, and notes what it was asked. */
function saying(answers: readonly (string | readonly Part[])[]): {
  readonly process: AgentFunction
  readonly asked: string[]
} {
  const asked: string[] = []
  return {
    asked,
    process(message, turn): AgentReply {
      asked.push(textOf(message.parts))
      const answer = answers[asked.length - 1] ?? 'nothing more'
      return typeof answer === 'string' ? answer : turn.reply(answer)
    },
  }
}

describe('an answer that fits', () => {
  test.each<[string, string | readonly Part[]]>([
    ['JSON', '{"score": 1}'],
    ['JSON in a fence', '```json\n{"score": 1}\n```'],
    ['JSON among words', 'I looked at {it}. Here you are:\n```json\n{"score": 1}\n```\nDone.'],
    ['a data part', [{ data: { score: 1 } }]],
    ['words and a data part', [{ text: 'Here you are' }, { data: { score: 1 } }]],
  ])('as %s becomes one data part', async (_, answer) => {
    const { process, asked } = saying([answer])
    const turn = createTurn('judge')
    const { artifacts } = foldEvents(turn, await runTurn(checked(process), turn))
    expect(artifacts).toEqual([{ artifactId: 'response', name: 'response', parts: [data] }])
    expect(asked).toEqual(['judge'])
    expect(turn.traces).toEqual([])
    expect(turn.saved.size).toBe(0)
  })

  test('keeps files, and loses what else was said', async () => {
    const file = { url: 'https://files.example/plot.png', mediaType: 'image/png' }
    const other = { raw: 'AAAA', filename: 'a.bin' }
    const agent = checked(async function* (_, turn) {
      yield 'Look: '
      yield { text: '{"score": 1}' }
      yield file
      yield turn.artifact({ artifactId: 'notes', parts: [{ text: 'dull' }] })
      yield turn.artifact({ artifactId: 'raw', name: 'Raw', parts: [{ text: 'x' }, other] })
    })
    const turn = createTurn('judge')
    const { artifacts } = foldEvents(turn, await runTurn(agent, turn))
    expect(artifacts).toEqual([
      { artifactId: 'response', name: 'response', parts: [data, file] },
      { artifactId: 'raw', name: 'Raw', parts: [other] },
    ])
  })

  test('is not told before it is whole; progress is', async () => {
    const agent = checked(async function* (_, turn) {
      yield '{"score":'
      yield turn.status('TASK_STATE_WORKING', 'thinking')
      yield ' 1}'
    })
    const events = await runTurn(agent, createTurn('judge'))
    expect(events).toMatchObject([
      { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } },
      { artifactUpdate: { artifact: { parts: [data] }, lastChunk: true } },
    ])
    expect(events).toHaveLength(2)
  })

  test('is what its schema makes of it', async () => {
    const trimmed = toDataSchema(z.object({ word: z.string().trim() }), { at: 'outputSchema' })
    const agent = withOutputSchema(
      defineAgent({ name: 'A' }, () => '{"word": " x "}'),
      trimmed,
    )
    const { parts } = await askAlone(agent, userMessage('say'))
    expect(parts).toEqual([{ data: { word: 'x' }, mediaType: 'application/json' }])
  })

  test('that its schema makes no JSON of fails with words that say so', async () => {
    const counting = z.object({ score: z.number().transform((score) => BigInt(score)) })
    const big = toDataSchema(counting, { at: 'outputSchema' })
    const agent = withOutputSchema(
      defineAgent({ name: 'A' }, () => '{"score": 1}'),
      big,
    )
    await expect(askAlone(agent, userMessage('say'))).rejects.toThrow('that is no JSON')
  })
})

describe('an answer that does not fit', () => {
  test('is asked for again with the fault, the schema and the answer itself', async () => {
    const { process, asked } = saying(['{"score": "high"}', '{"score": 1}'])
    const turn = createTurn('judge')
    const { artifacts } = foldEvents(turn, await runTurn(checked(process), turn))
    expect(artifacts?.[0]?.parts).toEqual([data])
    expect(asked[1]).toMatch(/^judge\n\nYou have answered:\n\{"score": "high"\}\n\nThat answer/)
    expect(asked[1]).toContain('cannot be used: the answer.score: ')
    expect(asked[1]).toContain(`fits this JSON Schema:\n${JSON.stringify(schema.jsonSchema)}`)
    const fault = expect.stringContaining('the answer.score')
    expect(turn.traces).toEqual([{ type: 'output', try: 1, fault }])
  })

  test('fails with the last fault after two more tries', async () => {
    const { process, asked } = saying(['no', '{}', '{"score": "low"}', '{"score": 1}'])
    const turn = createTurn('judge')
    const reply = runTurn(checked(process), turn)
    await expect(reply).rejects.toMatchObject({
      code: 'invalidAgentResponse',
      message: expect.stringMatching(/^The answer does not fit its schema, after 3 tries: .*score/),
    })
    expect(asked).toHaveLength(3)
    expect(turn.traces.map(({ try: number }) => number)).toEqual([1, 2, 3])
  })

  test.each([
    [0, 1],
    [1, 2],
  ])('is asked for again %i times where that is wanted', async (retries, calls) => {
    const { process, asked } = saying(['no', 'no', 'no'])
    await expect(runTurn(checked(process, retries), createTurn('judge'))).rejects.toThrow(
      'not JSON',
    )
    expect(asked).toHaveLength(calls)
  })

  test('is one that nests without end, or only seems to begin', async () => {
    const hostile = ['['.repeat(100_000) + ']'.repeat(100_000), '{"a":'.repeat(50_000)]
    const { process } = saying([...hostile, '{"score": 1}'])
    const turn = createTurn('judge')
    const { artifacts } = foldEvents(turn, await runTurn(checked(process), turn))
    expect(artifacts?.[0]?.parts).toEqual([data])
    expect(turn.traces.map(({ fault }) => fault)).toEqual(['it is not JSON', 'it is not JSON'])
  })

  test('counts the tokens of every try', async () => {
    const used = toUsageMetadata({ inputTokens: 10, outputTokens: 1, model: 'm' })
    let calls = 0
    const agent = checked(async function* (_, turn) {
      calls++
      const parts = [{ text: calls < 3 ? 'no' : '{"score": 1}' }]
      yield turn.artifact({ artifactId: 'response', parts, metadata: used })
    })
    const turn = createTurn('judge')
    const { artifacts } = foldEvents(turn, await runTurn(agent, turn))
    const usage = usageOf(artifacts?.[0]?.metadata)
    expect(usage).toEqual({ inputTokens: 30, outputTokens: 3, model: 'm' })
  })

  test('is held against what may be spent before it is asked for again', async () => {
    const counted: unknown[] = []
    const account = {
      used: undefined,
      check: () => void counted.push('check'),
      price: (usage: Usage) => usage,
      spend: (usage: Usage) => void counted.push(usage),
      resume: (usage: Usage) => void counted.push(usage),
      unreported: () => undefined,
    }
    const used = { inputTokens: 10, outputTokens: 1 }
    const agent = checked(async function* (_, turn) {
      const metadata = toUsageMetadata(used)
      yield turn.artifact({ artifactId: 'response', parts: [{ text: 'no' }], metadata })
    }, 1)
    await expect(runTurn(agent, createTurn('judge', { account }))).rejects.toThrow('not JSON')
    expect(counted).toEqual([used, 'check', { inputTokens: 20, outputTokens: 2 }])
  })

  test('has steps of its own in every try', async () => {
    const made: number[] = []
    const agent = checked(async (_, turn) => {
      const score = await turn.step('score', () => made.push(made.length))
      return score === 2 ? '{"score": 1}' : 'no'
    })
    const turn = createTurn('judge')
    await runTurn(agent, turn)
    expect(made).toEqual([0, 1])
    expect([...turn.steps.keys()]).toEqual(['score', 'output~2/score'])
  })

  test('that was refused before a crash is not asked for again', async () => {
    const { process, asked } = saying(['no', 'crash', '{"score": 1}'])
    const dying: AgentFunction = (message, turn) => {
      const reply = process(message, turn)
      if (reply === 'crash') throw new Error('crash')
      return reply
    }
    const first = createTurn('judge')
    await expect(runTurn(checked(dying), first)).rejects.toThrow('crash')
    const { saved, steps, message } = first
    const again = createTurn(message, { saved, steps, attempt: 2 })
    const { artifacts } = foldEvents(again, await runTurn(checked(dying), again))
    expect(artifacts?.[0]?.parts).toEqual([data])
    expect(asked).toHaveLength(3)
    expect(asked[2]).toBe(asked[1])
  })

  test('of an agent whose answers fit another schema as well is asked for by both', async () => {
    const { process, asked } = saying(['no', '{"score": 5}', '{"score": 1}'])
    const strict = toDataSchema(z.object({ score: z.number().max(1) }), { at: 'outputSchema' })
    const turn = createTurn('judge')
    const agent = withOutputSchema(checked(process), strict)
    const { artifacts } = foldEvents(turn, await runTurn(agent, turn))
    expect(artifacts?.[0]?.parts).toEqual([data])
    expect(asked).toHaveLength(3)
    expect([...turn.saved.keys()]).toEqual(['output~output~', 'output~'])
  })
})

describe('what is no answer passes as it is', () => {
  test.each<[string, (turn: Turn) => AgentReply]>([
    ['a question', (turn) => events(turn.ask('Which one?'))],
    ['a failure', (turn) => events(turn.status('TASK_STATE_FAILED', 'No paper'))],
    ['a refusal', (turn) => events(turn.status('TASK_STATE_REJECTED', 'Not mine'))],
    [
      'a call of the client’s tools',
      (turn) =>
        events(
          turn.artifact({
            artifactId: 'response',
            parts: [{ text: 'Let me look' }],
            metadata: toToolCallsMetadata([{ id: '1', name: 'look', arguments: '{}' }]),
          }),
        ),
    ],
    [
      'a handing over',
      (turn) =>
        events(
          {
            statusUpdate: {
              status: { state: 'TASK_STATE_WORKING' },
              metadata: { [clientRoutingExtension]: { recipient: 'other' } },
            },
          },
          turn.artifact({ artifactId: 'response', parts: [{ text: 'Over to the other' }] }),
        ),
    ],
  ])('%s', async (_, reply) => {
    let calls = 0
    const plain: AgentFunction = (_message, turn) => {
      calls++
      return reply(turn)
    }
    const turn = createTurn('judge')
    const given = foldEvents(turn, await runTurn(checked(plain), turn))
    const expected = foldEvents(turn, await runTurn(defineAgent({ name: 'P' }, plain), turn))
    expect(given.artifacts).toEqual(expected.artifacts)
    expect(given.status.state).toBe(expected.status.state)
    expect(textOf(given.status.message?.parts ?? [])).toBe(
      textOf(expected.status.message?.parts ?? []),
    )
    expect(calls).toBe(2)
  })

  test('and what follows a question is checked, in the try that asked', async () => {
    const seen: string[] = []
    const agent = checked(async function* (message, turn) {
      const text = textOf(message.parts)
      seen.push(text)
      if (seen.length === 1) yield 'no'
      else if (seen.length === 2) {
        await turn.save('doubt', 'which')
        yield turn.ask('Which one?')
      } else if (seen.length === 3) yield `It is ${turn.load('doubt')} and ${turn.task?.id}`
      else yield '{"score": 1}'
    })
    const first = createTurn('judge')
    const task = foldEvents(first, await runTurn(agent, first))
    expect(task.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const second = createTurn('the blue one', { task, saved: first.saved })
    const { artifacts } = foldEvents(second, await runTurn(agent, second))
    expect(artifacts).toEqual([{ artifactId: 'response-2', name: 'response', parts: [data] }])
    expect(seen[2]).toBe('the blue one')
    expect(seen[3]).toContain('It is which and task-1')
    expect(seen).toHaveLength(4)
  })
})

async function* events<Event>(...list: Event[]): AsyncGenerator<Event> {
  yield* list
}

test('the turn says which schema the answer is to fit, and nobody else is asked for it', async () => {
  const seen: unknown[] = []
  const agent = checked((_, turn) => {
    seen.push(turn.outputSchema)
    return '{"score": 1}'
  })
  await runTurn(agent, createTurn('judge'))
  expect(seen).toEqual([schema.jsonSchema])
  expect(agent.outputSchema).toBe(schema)
})

test('an agent hears of a cancel in whichever try it keeps something', async () => {
  const told: unknown[] = []
  const plain: Agent = {
    ...defineAgent({ name: 'Keeper' }, () => ''),
    cancel: async (task) => void told.push([task.load('job'), [...task.keys()]]),
  }
  const kept = new Map([
    ['job', 1],
    ['output~', 0],
    ['output~2/job', 2],
    ['output~output~', 3],
  ])
  const task = {
    taskId: 't',
    contextId: 'c',
    load: (key: string) => kept.get(key),
    keys: () => kept.keys(),
  }
  await withOutputSchema(plain, schema).cancel?.(task)
  expect(told).toEqual([
    [1, ['job', 'output~']],
    [2, ['job']],
  ])
})
