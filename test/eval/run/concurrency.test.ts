import { expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { textOf } from '../../../src/protocol/task.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { serveAgent } from '../serving.ts'
import { addTask, smallDomain } from '../small-domain.ts'

test('400 simulations at the same time mix no context, and every request is in the metrics', async () => {
  const tasks = Array.from({ length: 400 }, (_, i) =>
    addTask({
      id: `task-${i}`,
      user_script: {
        opening: `Please add Ulysses for number ${i}.`,
        replies: [
          { when: 'number', say: `I am number ${i}.` },
          { when: 'added', stop: true },
        ],
      },
    }),
  )
  const heard = new Map<string, string[]>()
  const everybody = createDeferred<void>()
  let sends = 0
  const agent = defineAgent({ name: 'Crowd' }, async (message, turn) => {
    sends += 1
    const known = heard.get(turn.contextId)
    const words = [...(known ?? []), textOf(message.parts)]
    heard.set(turn.contextId, words)
    if (heard.size === 400) everybody.resolve()
    await everybody.promise // nobody is answered before all have spoken
    if (words.length === 1) return turn.reply('Which number are you?')
    if (words.length === 2)
      return turn.reply('{"tool_call": {"name": "add_book", "arguments": {"title": "Ulysses"}}}')
    if (words[0]?.includes('number 13.')) throw new Error('broken')
    return turn.reply('Added, 2 books.')
  })
  const endpoint = await serveAgent(agent, { streaming: false })
  const { simulations, summary } = await runEvaluation({
    agent: { endpoint },
    domain: smallDomain(tasks),
    maxConcurrency: 400,
  })
  expect(heard.size).toBe(400)
  for (const words of heard.values()) {
    const [first = '', second] = words
    const number = /for number (\d+)\.$/.exec(first)?.[1]
    expect(second).toBe(`I am number ${number}.`)
    expect(words).toHaveLength(3)
  }
  expect(new Set(simulations.map(({ context_id }) => context_id)).size).toBe(400)
  expect(summary.successes).toBe(399)
  expect(simulations[13]?.termination_reason).toBe('agent_error')
  expect(simulations[13]?.protocol_metrics.at(-1)?.error).toBeDefined()
  expect(sends).toBe(1_200)
  expect(summary.metrics.total_requests).toBe(1 + sends)
  expect(summary.metrics.error_count).toBe(1)
})
