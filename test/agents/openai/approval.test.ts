import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { OpenAIAgent, type OpenAIAgentOptions } from '../../../src/agents/openai/agent.ts'
import { defineTool, type Tool } from '../../../src/agents/tools.ts'
import { traceExtension } from '../../../src/protocol/extensions.ts'
import { answerParts, textOf, userMessage } from '../../../src/protocol/task.ts'
import type { JsonObject, Part, Task } from '../../../src/protocol/types.ts'
import { createServer, type Server } from '../../../src/server/index.ts'
import { createMemoryStore } from '../../../src/store/memory/store.ts'
import { type ModelScript, type ModelServer, openModelServer } from '../../../src/testing/index.ts'
import { wires } from '../../fixtures/wires.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** What tools did, in order. */
type Done = JsonObject[]

function refund(done: Done, approval: boolean | ((args: { amount: number }) => boolean) = true) {
  return defineTool({
    name: 'refund',
    description: 'Pays money back',
    input: z.object({ order: z.string(), amount: z.number() }),
    approval,
    execute(args, { key }) {
      done.push({ ...args, key })
      return `refunded ${args.amount}`
    },
  })
}

function lookUp(done: Done): Tool {
  return defineTool({
    name: 'look_up',
    description: 'Finds an order',
    input: z.object({ order: z.string() }),
    execute(args) {
      done.push(args)
      return 'found'
    },
  })
}

interface Desk {
  readonly model: ModelServer
  readonly server: Server
  send(parts: string | readonly Part[], taskId?: string): Promise<Task>
  trace(taskId: string): Promise<readonly JsonObject[]>
}

describe.each(wires)('over the wire of %s', (wire) => {
  async function open(
    script: ModelScript,
    tools: readonly Tool[],
    more: Pick<OpenAIAgentOptions, 'outputSchema'> = {},
  ): Promise<Desk> {
    const model = await openModelServer(script, { wire })
    const agent = new OpenAIAgent({
      ...{ id: 'desk', name: 'Desk', endpoint: model.url, apiKey: 'k', model: 'm' },
      ...{ timeoutSeconds: 10, maxRetries: 0, systemPrompt: 'Be kind.', tools, ...more },
    })
    const server = await createServer({
      agents: [agent],
      store: createMemoryStore(),
      logger: false,
    })
    closing.push(model.close, () => server.close().then(() => agent.close()))
    return {
      model,
      server,
      async send(parts, taskId) {
        const message = userMessage(parts, taskId === undefined ? {} : { taskId })
        const sent = await server.dispatch()('SendMessage', { message }, {})
        if (!('task' in sent)) throw new Error('a task was expected')
        return sent.task
      },
      async trace(id) {
        const extensions = [traceExtension]
        const { metadata } = await server.dispatch()('GetTask', { id }, { extensions })
        const entries = metadata?.[traceExtension]
        return Array.isArray(entries) ? (entries as JsonObject[]) : [] // the trace holds objects
      },
    }
  }

  const words = ({ status }: Task): string => textOf(status.message?.parts ?? [])
  const wants = (order: string, amount: number): JsonObject => ({ order, amount })

  describe('a tool that needs approval', () => {
    test('is shown to the user with its arguments, and runs after a yes', async () => {
      const done: Done = []
      const script = [
        { text: 'Let me see. ', tools: [{ name: 'refund', arguments: wants('A1', 30) }] },
        'It is paid.',
      ]
      const { model, send, trace } = await open(script, [refund(done)])
      const asked = await send('refund my order A1')
      expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
      expect(words(asked)).toBe(
        'Desk wants to run the tool refund with:\n```json\n{\n  "order": "A1",\n  "amount": 30\n}\n```\n\nMay it? Answer yes or no.\n',
      )
      expect(asked.status.message?.parts[1]).toEqual({
        data: { approval: { agent: 'Desk', tool: 'refund', arguments: wants('A1', 30) } },
      })
      expect(textOf(answerParts({ ...asked, status: { state: 'TASK_STATE_WORKING' } }))).toBe(
        'Let me see. ',
      )
      expect(done).toEqual([])

      const paid = await send('Yes.', asked.id)
      expect(paid.status.state).toBe('TASK_STATE_COMPLETED')
      expect(done).toMatchObject([wants('A1', 30)])
      expect(paid.artifacts?.map(({ artifactId, parts }) => [artifactId, textOf(parts)])).toEqual([
        ['response', 'Let me see. It is paid.'],
      ])
      // The model goes on as if nobody had asked.
      expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual([
        ...['system', 'user', 'assistant', 'tool'],
      ])
      expect(model.requests[1]?.messages.slice(0, 2)).toEqual(model.requests[0]?.messages)
      expect((await trace(asked.id)).filter(({ type }) => type === 'tool-approval')).toMatchObject([
        {
          agent: 'Desk',
          tool: 'refund',
          verdict: 'approved',
          arguments: '{"order":"A1","amount":30}',
        },
      ])
    })

    test('rejects the task after a no', async () => {
      const done: Done = []
      const script = [{ tools: [{ name: 'refund', arguments: wants('A1', 30) }] }, 'never said']
      const { model, send, trace } = await open(script, [refund(done)])
      const asked = await send('refund')
      const ended = await send([{ data: { approved: false } }], asked.id)
      expect(ended.status.state).toBe('TASK_STATE_REJECTED')
      expect(words(ended)).toBe('The user did not approve')
      expect(done).toEqual([])
      expect(model.requests).toHaveLength(1)
      expect((await trace(asked.id)).at(-1)).toMatchObject({ verdict: 'rejected' })
    })

    test('is asked about again after what is neither', async () => {
      const done: Done = []
      const script = [{ tools: [{ name: 'refund', arguments: wants('A1', 30) }] }, 'Paid.']
      const { model, send } = await open(script, [refund(done)])
      const asked = await send('refund')
      for (const unclear of ['yes, but only 20', 'what is that?']) {
        const again = await send(unclear, asked.id)
        expect(again.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
        expect(words(again)).toBe(
          `That was neither a yes nor a no. Please answer yes or no.\n\n${words(asked)}`,
        )
        expect(done).toEqual([])
      }
      expect((await send('ok', asked.id)).status.state).toBe('TASK_STATE_COMPLETED')
      expect(done).toHaveLength(1)
      expect(model.requests).toHaveLength(2)
    })

    test('waits until the others of its round have run, and each is asked about alone', async () => {
      const done: Done = []
      const calls = [
        { name: 'refund', arguments: wants('A1', 1) },
        { name: 'look_up', arguments: { order: 'A1' } },
        { name: 'refund', arguments: wants('A2', 2) },
      ]
      const { model, send } = await open(
        [{ tools: calls }, 'All paid.'],
        [refund(done), lookUp(done)],
      )
      const first = await send('go')
      expect(done).toEqual([{ order: 'A1' }])
      expect(words(first)).toContain('"A1"')
      const second = await send('yes', first.id)
      expect(second.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
      expect(words(second)).toContain('"A2"')
      expect(done).toMatchObject([{ order: 'A1' }, wants('A1', 1)])
      const last = await send('yes', first.id)
      expect(textOf(answerParts(last))).toBe('All paid.')
      expect(done).toMatchObject([{ order: 'A1' }, wants('A1', 1), wants('A2', 2)])
      expect(new Set(done.flatMap(({ key }) => key ?? [])).size).toBe(2)
      const results = model.requests[1]?.messages.filter(({ role }) => role === 'tool')
      expect(results?.map(({ content }) => content)).toEqual(['refunded 1', 'found', 'refunded 2'])
    })

    test('may be decided by its arguments', async () => {
      const done: Done = []
      const calls = [
        { name: 'refund', arguments: wants('A1', 5) },
        { name: 'refund', arguments: wants('A2', 500) },
      ]
      const tool = refund(done, ({ amount }) => amount > 100)
      const { send } = await open([{ tools: calls }, 'Paid.'], [tool])
      const asked = await send('go')
      expect(done).toMatchObject([wants('A1', 5)])
      expect(words(asked)).toContain('500')
    })

    test('is asked about where its rule fails', async () => {
      const done: Done = []
      const tool = refund(done, () => {
        throw new Error('no idea')
      })
      const script = [{ tools: [{ name: 'refund', arguments: wants('A1', 5) }] }, 'Paid.']
      const { send } = await open(script, [tool])
      expect((await send('go')).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
      expect(done).toEqual([])
    })

    test('is not asked about where its arguments do not fit: the model is told', async () => {
      const done: Done = []
      const script = [
        { tools: [{ name: 'refund', arguments: { order: 'A1', amount: 'all' } }] },
        { tools: [{ name: 'refund', arguments: '[' }] },
        'I cannot.',
      ]
      const { model, send } = await open(script, [refund(done)])
      expect((await send('go')).status.state).toBe('TASK_STATE_COMPLETED')
      expect(done).toEqual([])
      const told = model.requests.map(({ messages }) => messages.at(-1)?.content)
      expect(told.slice(1)).toEqual([
        expect.stringMatching(/^Error: arguments\.amount: /),
        'Error: The arguments are not a JSON object',
      ])
    })

    test('shows the beginning of long arguments, and says that there are more', async () => {
      const script = [{ tools: [{ name: 'refund', arguments: wants('x'.repeat(30_000), 1) }] }, '']
      const asked = await (await open(script, [refund([])])).send('go')
      expect(words(asked).length).toBeLessThan(20_300)
      expect(words(asked)).toMatch(/\[… 100\d\d characters of the arguments are not shown\]/)
      const [, part] = asked.status.message?.parts ?? []
      expect(part).toMatchObject({ data: { approval: { tool: 'refund', notShown: 10_023 } } })
    })

    test('shows nothing that could turn its own words round', async () => {
      const script = [{ tools: [{ name: 'refund', arguments: wants('\u202e1A', 1) }] }, '']
      const asked = await (await open(script, [refund([])])).send('go')
      expect(words(asked)).toContain('\\u202e1A')
    })

    test('is not asked about or run again where the answer after it has to fit a schema and does not', async () => {
      const done: Done = []
      const call = { tools: [{ name: 'refund', arguments: wants('A1', 30) }] }
      const outputSchema = {
        type: 'object',
        properties: { ok: { type: 'boolean' } },
        required: ['ok'],
      }
      const { model, send } = await open([call, 'Paid!', '{"ok":true}'], [refund(done)], {
        outputSchema,
      })
      const asked = await send('refund my order A1')
      expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
      const paid = await send('yes', asked.id)
      expect(answerParts(paid)).toMatchObject([{ data: { ok: true } }])
      expect(done).toHaveLength(1)
      const last = model.requests[2]?.messages
      expect(last?.map(({ role }) => role)).toEqual([
        ...['system', 'user', 'assistant', 'tool', 'user'],
      ])
      expect(last?.slice(0, 2)).toEqual(model.requests[0]?.messages)
      expect(String(last?.at(-1)?.content)).toContain('Paid!')
    })
  })
})
