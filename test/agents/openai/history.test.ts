import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { OpenAIAgent, type OpenAIAgentOptions } from '../../../src/agents/openai/agent.ts'
import { usageOf } from '../../../src/protocol/extensions.ts'
import { answerParts, textOf, userMessage } from '../../../src/protocol/task.ts'
import { createServer } from '../../../src/server/index.ts'
import { createMemoryStore, openSqliteStore } from '../../../src/store/index.ts'
import {
  type ModelAnswer,
  type ModelRequest,
  type ModelServer,
  openModelServer,
} from '../../../src/testing/index.ts'
import { wires } from '../../fixtures/wires.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

describe.each(wires)('over the wire of %s', (wire) => {
  /** A model that answers with the number of its request, and to a request for a summary with its own number. */
  async function serve(
    change: Partial<OpenAIAgentOptions>,
    summarise: (body: ModelRequest, count: number) => ModelAnswer = (_, count) => ({
      whole: `summary ${count}`,
    }),
    file?: string,
  ) {
    let [answers, summaries] = [0, 0]
    const service: ModelServer = await openModelServer(
      (body) => (isSummary(body) ? summarise(body, ++summaries) : `answer ${++answers}`),
      { wire },
    )
    const agent = new OpenAIAgent({
      id: 'writer',
      name: 'Writer',
      endpoint: service.url,
      apiKey: 'k',
      model: 'gpt-test',
      timeoutSeconds: 10,
      maxRetries: 0,
      systemPrompt: 'Be brief.',
      ...change,
    })
    const store = file === undefined ? createMemoryStore() : await openSqliteStore(file)
    const server = await createServer({ agents: [agent], logger: false, store })
    closing.push(
      () => store.close(),
      service.close,
      () => agent.close(),
      () => server.close(),
    )
    const dispatch = server.dispatch()
    const ask = async (text: string) => {
      const answer = await dispatch(
        'SendMessage',
        { message: userMessage(text, { contextId: 'c-1' }) },
        {},
      )
      if (!('task' in answer)) throw new Error('a task was expected')
      return answer.task
    }
    return {
      ask,
      summaries: () => service.requests.filter(isSummary),
      answers: () => service.requests.filter((body) => !isSummary(body)),
    }
  }

  function isSummary({ messages }: ModelRequest): boolean {
    return String(messages[0]?.content).startsWith('Summarise')
  }

  function said(body: ModelRequest | undefined): unknown[] {
    return (body?.messages ?? []).map(({ content }) => content)
  }

  describe('what a model hears of earlier messages', () => {
    test('is the newest of them, counted as messages', async () => {
      const { ask, answers } = await serve({ maxHistory: 3 })
      for (const text of ['one', 'two', 'three']) await ask(text)
      expect(said(answers()[2])).toEqual(['Be brief.', 'answer 1', 'two', 'answer 2', 'three'])
    })

    test('is a summary of the older ones where it summarises, asked for once and kept', async () => {
      const { ask, answers, summaries } = await serve({ maxHistory: 4, history: 'summarise' })
      for (const text of ['one', 'two', 'three']) await ask(text)
      expect(summaries()).toEqual([])
      for (const text of ['four', 'five']) await ask(text)
      expect(summaries()).toHaveLength(1)
      expect(said(summaries()[0]).at(-1)).toBe(
        'User: one\n\nAssistant: answer 1\n\nUser: two\n\nAssistant: answer 2',
      )
      const short = 'The conversation so far, in short:\nsummary 1'
      expect(said(answers()[3])).toEqual(['Be brief.', short, 'three', 'answer 3', 'four'])
      expect(said(answers()[4])).toEqual([
        ...['Be brief.', short, 'three', 'answer 3', 'four', 'answer 4', 'five'],
      ])
      await ask('six')
      expect(summaries()).toHaveLength(2)
      expect(said(summaries()[1]).at(-1)).toContain('Summary of what came before: summary 1\n\n')
      expect(said(answers()[5])).toEqual([
        ...['Be brief.', short.replace('1', '2'), 'five', 'answer 5', 'six'],
      ])
    })

    test('is the same summary after a restart', async () => {
      const file = join(mkdtempSync(join(tmpdir(), 'corral-')), 'tasks.db')
      const settings = { maxHistory: 4, history: 'summarise' } as const
      const first = await serve(settings, () => ({ whole: 'kept' }), file)
      for (const text of ['one', 'two', 'three', 'four']) await first.ask(text)
      expect(first.summaries()).toHaveLength(1)
      for (const close of closing.splice(0).reverse()) await close()
      const second = await serve(settings, () => ({ whole: 'another' }), file)
      await second.ask('five')
      expect(second.summaries()).toEqual([])
      expect(said(second.answers()[0])[1]).toBe('The conversation so far, in short:\nkept')
    })

    test('what the summary cost is among the tokens of the answer', async () => {
      const { ask } = await serve({ maxHistory: 2, history: 'summarise' })
      await ask('one')
      expect(usageOf((await ask('two')).artifacts?.[0]?.metadata)?.inputTokens).toBe(11)
      expect(usageOf((await ask('three')).artifacts?.[0]?.metadata)?.inputTokens).toBe(22)
    })

    test('is the newest messages alone where no summary could be made', async () => {
      const { ask, answers } = await serve({ maxHistory: 2, history: 'summarise' }, () => ({
        status: 400,
      }))
      for (const text of ['one', 'two']) await ask(text)
      expect(textOf(answerParts(await ask('three')))).toBe('answer 3')
      expect(said(answers()[2])).toEqual(['Be brief.', 'two', 'answer 2', 'three'])
    })
  })
})
