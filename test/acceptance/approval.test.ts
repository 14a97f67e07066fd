import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import OpenAI from 'openai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { defineTool } from '../../src/agents/tools.ts'
import { answerParts, textOf, userMessage } from '../../src/protocol/task.ts'
import type { Part, SendMessageResponse } from '../../src/protocol/types.ts'
import { openModelServer } from '../../src/testing/index.ts'
import { start } from '../cli/corral.ts'
import { member } from '../fixtures/members.ts'
import { connect, serve, taskOf, teamOf } from '../team/scene.ts'

/** What somebody at a door sees of the task, whatever the door's own words. */
interface Seen {
  readonly state: string
  readonly text: string
}

/** Somebody who talks with the team through one door. */
interface Visitor {
  begin(text: string): Promise<Seen>
  /** Says something to the task that asks. */
  answer(text: string): Promise<Seen>
}

type Door = (url: string) => Visitor | Promise<Visitor>

/** A served team that does something once somebody approves. */
interface Desk {
  readonly url: string
  /** What it has done. */
  readonly done: readonly unknown[]
  /** What it asks, and what it answers in the end. */
  readonly question: string
  readonly answer: string
}

/** A team that writes a draft and publishes it. */
async function editors(): Promise<Desk> {
  const publish = member('publish', (text) => `published: ${text}`)
  const agents = { draft: member('draft'), publish }
  const steps = [
    { agentId: 'draft' },
    { approval: { question: 'Publish this?' } },
    { agentId: 'publish' },
  ]
  const url = await serve(teamOf(agents, 'team', { type: 'workflow', steps }))
  const question = 'draft(news)\n\nPublish this?'
  return { url, done: publish.asked, question, answer: 'published: draft(news)' }
}

/** A team whose model publishes by a tool. */
async function publisher(): Promise<Desk> {
  const done: unknown[] = []
  const publish = defineTool({
    name: 'publish',
    description: 'Publishes a text',
    input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    approval: true,
    execute: (args) => done.push(args),
  })
  const call = { tools: [{ name: 'publish', arguments: { text: 'news' } }] }
  const service = await openModelServer([call, 'It is published.'])
  const model = new OpenAIAgent({
    ...{ id: 'model', name: 'Model', endpoint: service.url, apiKey: 'k', model: 'm' },
    ...{ timeoutSeconds: 20, maxRetries: 0, tools: [publish] },
  })
  onTestFinished(async () => {
    await model.close()
    await service.close()
  })
  const question = 'Model wants to run the tool publish with:\n```json\n{\n  "text": "news"\n}\n```'
  return { url: await serve(teamOf({ model })), done, question, answer: 'It is published.' }
}

const desks = { step: editors, tool: publisher }

function overA2A(version: '1.0' | '0.3', toParts: (text: string) => readonly Part[]): Door {
  return (url) => {
    const client = connect(url, { versions: [version] })
    const seen = (answer: SendMessageResponse): Seen => {
      const task = taskOf(answer)
      return {
        state: task.status.state,
        text: textOf(task.status.message?.parts ?? answerParts(task)),
      }
    }
    let taskId = ''
    return {
      async begin(text) {
        const answer = await client.sendMessage(text)
        taskId = taskOf(answer).id
        return seen(answer)
      },
      answer: async (text) =>
        seen(await client.sendMessage(userMessage(toParts(text), { taskId }))),
    }
  }
}

const asText = (text: string): readonly Part[] => [{ text }]
/** The decision of a form with two buttons; other words stay words. */
const asData = (text: string): readonly Part[] =>
  text === 'yes' || text === 'no' ? [{ data: { approved: text === 'yes' } }] : [{ text }]

/** With the official client, its own retries included; `go` names what goes along with an answer. */
function overOpenAI(go: (place: Place) => Place, streamed: boolean): Door {
  return (url) => {
    const client = new OpenAI({ apiKey: 'none', baseURL: `${url}/v1` })
    let place: Place = {}
    async function say(text: string, metadata: Place): Promise<Seen> {
      const question = {
        model: 'team',
        messages: [{ role: 'user' as const, content: text }],
        metadata,
      }
      try {
        if (!streamed) return take(await client.chat.completions.create(question))
        const stream = await client.chat.completions.create({ ...question, stream: true })
        let words = ''
        let last: object = {}
        for await (const chunk of stream) {
          words += chunk.choices[0]?.delta.content ?? ''
          last = chunk
        }
        place = metadataOf(last)
        return { state: place.state ?? '', text: words }
      } catch (error) {
        if (!(error instanceof OpenAI.APIError)) throw error
        return {
          state: String(error.code).replace('task_', 'TASK_STATE_').toUpperCase(),
          text: error.message,
        }
      }
    }
    function take(completion: OpenAI.ChatCompletion): Seen {
      place = metadataOf(completion)
      return { state: place.state ?? '', text: completion.choices[0]?.message.content ?? '' }
    }
    return { begin: (text) => say(text, {}), answer: (text) => say(text, go(place)) }
  }
}

/** What the door says of an answer's place, beside OpenAI's own fields. */
type Place = { context_id?: string; task_id?: string; state?: string }

function metadataOf(answer: object): Place {
  return 'metadata' in answer ? (answer.metadata as Place) : {} // our own form
}

const overMcp: Door = async (url) => {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
  onTestFinished(() => client.close())
  let ids: Record<string, string> = {}
  async function say(args: Record<string, string>): Promise<Seen> {
    const { structuredContent, content } = await client.callTool({ name: 'team', arguments: args })
    const {
      state = '',
      answer = '',
      task_id = '',
      context_id = '',
    } = structuredContent as Record<string, string> // our own schema
    ids = { task_id, context_id }
    const shown = content.map((block) => ('text' in block ? block.text : '')).join('')
    expect(shown).toContain(answer)
    if (state === 'TASK_STATE_INPUT_REQUIRED') expect(shown).toContain(task_id)
    return { state, text: answer }
  }
  return { begin: (message) => say({ message }), answer: (message) => say({ message, ...ids }) }
}

const doors: Readonly<Record<string, Door>> = {
  'A2A 1.0, in words': overA2A('1.0', asText),
  'A2A 1.0, in data': overA2A('1.0', asData),
  'A2A 0.3, in words': overA2A('0.3', asText),
  'A2A 0.3, in data': overA2A('0.3', asData),
  'OpenAI, by the task': overOpenAI(({ task_id = '' }) => ({ task_id }), false),
  'OpenAI, by the context': overOpenAI(({ context_id = '' }) => ({ context_id }), false),
  'OpenAI, in a stream': overOpenAI(({ task_id = '' }) => ({ task_id }), true),
  MCP: overMcp,
}

describe.each(Object.entries(doors))('an approval by the door of %s', (_, open) => {
  test.each(Object.entries(desks))(
    'shows what is to be approved, and goes on with yes: a %s',
    async (_kind, desk) => {
      const { url, done, question, answer } = await desk()
      const visitor = await open(url)
      const asked = await visitor.begin('news')
      expect(asked.state).toBe('TASK_STATE_INPUT_REQUIRED')
      expect(asked.text).toContain(question)
      expect(done).toEqual([])
      expect(await visitor.answer('yes')).toMatchObject({
        state: 'TASK_STATE_COMPLETED',
        text: answer,
      })
      expect(done).toHaveLength(1)
    },
  )

  test.each(Object.entries(desks))('is rejected with no: a %s', async (_kind, desk) => {
    const { url, done } = await desk()
    const visitor = await open(url)
    await visitor.begin('news')
    const rejected = await visitor.answer('no')
    expect(rejected.state).toBe('TASK_STATE_REJECTED')
    expect(rejected.text).toContain('did not approve')
    expect(done).toEqual([])
  })

  test.each(Object.entries(desks))(
    'is asked for again by anything else: a %s',
    async (_kind, desk) => {
      const { url, done, question } = await desk()
      const visitor = await open(url)
      await visitor.begin('news')
      const again = await visitor.answer('yes, but on Monday')
      expect(again.state).toBe('TASK_STATE_INPUT_REQUIRED')
      expect(again.text).toContain('neither a yes nor a no')
      expect(again.text).toContain(question)
      expect(done).toEqual([])
      expect((await visitor.answer('Ja!')).state).toBe('TASK_STATE_COMPLETED')
    },
  )
})

describe.each(Object.entries(desks))('an approval of a %s by corral chat', (kind, desk) => {
  test.each([
    { words: 'Yes.', last: 'TASK_STATE_COMPLETED', times: 1 },
    { words: 'no', last: 'TASK_STATE_REJECTED', times: 0 },
  ])('is asked for again by anything unclear, and decided by $words', async (decision) => {
    const { url, done } = await desk()
    const chat = start(['chat', url, '--json'])
    chat.write(`news\nperhaps\n${decision.words}\n`)
    chat.end()
    const { stdout } = await chat.ended
    const asked = stdout.split('\n').filter((line) => line.includes('INPUT_REQUIRED'))
    expect(asked[0]).toContain(kind === 'step' ? 'draft(news)' : 'the tool publish')
    expect(asked.some((line) => line.includes('neither a yes nor a no'))).toBe(true)
    expect(stdout.trim().split('\n').at(-1)).toContain(decision.last)
    expect(done).toHaveLength(decision.times)
  })
})
