/**
 * A support desk as people run it: a workflow of two members (two hops) under four guards. The first member asks its model
 * once; the model of the second calls two tools and then answers: three streamed model calls for each chat. The model
 * service is a process of its own and speaks OpenAI's wire.
 */
import { Agent as Connections, request } from 'undici'
import type { Agent } from '../src/agents/agent.ts'
import type { ModelRequest } from '../src/testing/index.ts'
import type { ModelCall } from '../src/testing/model-server.ts'
import { type Child, dist, start } from './processes.ts'
import { deskEnd } from './workloads.ts'

const order = {
  id: 'A-1042',
  customer: { name: 'Ann Example', email: 'ann@example.com', since: '2019-04-11' },
  lines: [
    { sku: 'GT-200', title: 'Garden table, acacia, 200 × 90 cm', quantity: 1, price: 389 },
    { sku: 'GC-11', title: 'Folding chair, acacia', quantity: 4, price: 59.5 },
    { sku: 'OIL-3', title: 'Teak oil, 750 ml', quantity: 2, price: 14.9 },
  ],
  status: 'shipped',
  carrier: { name: 'Fast Parcel', tracking: 'FP-77120041' },
}

const parcel = {
  order: 'A-1042',
  carrier: 'Fast Parcel',
  events: [
    { at: '2026-11-14T08:12:00Z', place: 'Leipzig', what: 'handed over' },
    { at: '2026-11-15T21:40:00Z', place: 'Hannover', what: 'sorted' },
    { at: '2026-11-17T05:03:00Z', place: 'Hamburg', what: 'waits for a van with a lift' },
  ],
  arrives: '2026-11-20',
  changeable: true,
}

const answer =
  'Thank you for your patience, Ann. Your garden table left our warehouse in Leipzig on Saturday, together with the chairs and ' +
  'the oil, and has reached Hamburg. There it waits for a van with a lift, because its carton is too heavy for an ordinary one.' +
  '\n\nThe carrier brings it on Friday, the 20th of November, between nine and one. Yes, you can still change the delivery ' +
  'address until tomorrow evening at six: reply with the new one, or write to desk@example.com with the number of the order.' +
  `\n\nBecause of the delay we have put a credit of 15 euros on your account. ${deskEnd}`

/** Every word is a chunk, as services send them. */
const chunksOf = (text: string): readonly string[] => text.split(/(?<= )/)

const triage = chunksOf(
  'Category: delivery, late. The customer asks where the order A-1042 is, when it will come, and whether the delivery address ' +
    'can still be changed. Look up the order and its parcel before you answer.',
)

/** What the scripted model answers: it knows the members by the names of their models. */
export function modelScript({ model, messages }: ModelRequest): {
  readonly texts: readonly string[]
  readonly calls?: readonly ModelCall[]
} {
  if (model === 'triage') return { texts: triage }
  if (messages.at(-1)?.role === 'tool') return { texts: chunksOf(answer) }
  const calls = ['find_order', 'track_parcel'].map((name) => ({
    name,
    arguments: { order: 'A-1042' },
  }))
  return { texts: [], calls }
}

/** The model service, which ends with this process. */
async function openModel(): Promise<{ readonly url: string; readonly model: Child }> {
  const model = start('probes/model.ts', [])
  const { url } = (await model.ready) as { url: string } // what model.ts says first
  return { url, model }
}

const prompts = {
  triage:
    'You read what customers write to our shop. Name the category of the request and say in one sentence what it is about.',
  support:
    'You answer customers of our shop. Look orders and parcels up with your tools, never guess, be polite and brief, and end ' +
    'with an offer of further help.',
}

const parameters = {
  type: 'object',
  properties: { order: { type: 'string', description: 'The number of the order' } },
  required: ['order'],
} as const

const found = { find_order: order, track_parcel: parcel }

const descriptions = {
  find_order: 'Finds an order by its number',
  track_parcel: 'Tells where the parcel of an order is',
}

/** The desk as an agent of Corral. */
export async function createDesk(): Promise<Agent> {
  const { defineTool, OpenAIAgent } = await dist<typeof import('../src/agents/index.ts')>('agents')
  const { defineTeam } = await dist<typeof import('../src/team/index.ts')>('team')
  const { url: endpoint } = await openModel()
  const tools = (['find_order', 'track_parcel'] as const).map((name) =>
    defineTool({
      name,
      description: descriptions[name],
      input: parameters,
      execute: () => found[name],
    }),
  )
  const member = (id: 'triage' | 'support', own: typeof tools) =>
    new OpenAIAgent({
      id,
      name: id,
      endpoint,
      apiKey: 'none',
      model: id,
      systemPrompt: prompts[id],
      tools: own,
    })
  return defineTeam({
    id: 'desk',
    name: 'Desk',
    agents: { triage: member('triage', []), support: member('support', tools) },
    scheduler: {
      type: 'workflow',
      steps: [
        { agentId: 'triage' },
        { agentId: 'support', input: '{{ previous.text }}\n\n{{ question.text }}' },
      ],
    },
    guards: {
      input: [
        'secrets',
        { use: 'pattern', deny: '(?i)ignore (all|any) (previous|earlier) instructions' },
      ],
      output: ['secrets', 'email'],
    },
  })
}

/** The same model calls without Corral: undici, one after the other, each read event by event. */
export async function createBareDesk(): Promise<(text: string) => Promise<string>> {
  const { url } = await openModel()
  const dispatcher = new Connections()
  const ask = (body: object): Promise<Said> => askModel(dispatcher, `${url}/chat/completions`, body)
  const tools = (['find_order', 'track_parcel'] as const).map((name) => ({
    type: 'function',
    function: { name, description: descriptions[name], parameters },
  }))
  return async (text) => {
    const first = { role: 'user', content: text }
    const sorted = await ask({
      model: 'triage',
      messages: [{ role: 'system', content: prompts.triage }, first],
    })
    const messages: object[] = [
      { role: 'system', content: prompts.support },
      { role: 'user', content: `${sorted.text}\n\n${text}` },
    ]
    const { calls } = await ask({ model: 'support', messages, tools })
    messages.push({ role: 'assistant', content: null, tool_calls: calls })
    for (const call of calls) {
      const content = JSON.stringify(found[call.function.name as keyof typeof found]) // as the script calls them
      messages.push({ role: 'tool', tool_call_id: call.id, content })
    }
    return (await ask({ model: 'support', messages, tools })).text
  }
}

interface Said {
  readonly text: string
  readonly calls: readonly Call[]
}

interface Call {
  id: string
  readonly type: 'function'
  readonly function: { name: string; arguments: string }
}

/** The fields of a chunk that are read. */
interface Chunk {
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string
      readonly tool_calls?: readonly {
        readonly index: number
        readonly id?: string
        readonly function: { readonly name?: string; readonly arguments?: string }
      }[]
    }
  }[]
}

async function askModel(dispatcher: Connections, url: string, asked: object): Promise<Said> {
  const body = JSON.stringify({ ...asked, stream: true, stream_options: { include_usage: true } })
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
  const reply = await request(url, { dispatcher, method: 'POST', headers, body })
  const calls: Call[] = []
  let [text, rest] = ['', '']
  for await (const bytes of reply.body.setEncoding('utf8')) {
    const events = (rest + bytes).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      if (event === 'data: [DONE]') continue
      const chunk = JSON.parse(event.slice('data: '.length)) as Chunk // of our own model
      const { content = '', tool_calls: pieces = [] } = chunk.choices[0]?.delta ?? {}
      text += content ?? ''
      for (const { index, id, function: piece } of pieces) {
        calls[index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } }
        const call = calls[index]
        call.id ||= id ?? ''
        call.function.name ||= piece.name ?? ''
        call.function.arguments += piece.arguments ?? ''
      }
    }
  }
  return { text, calls }
}
