/** What a client asks and how much the agent does for it. */
export interface Workload {
  /** The path and headers beyond content type and version. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly agent: 'message' | 'task' | 'lifecycle' | 'stream' | 'held' | 'slow' | 'desk'
  /** In each answer that is right. */
  readonly expects?: string
  /** Chunks of a stream. */
  readonly chunks: number
  readonly store: 'memory' | 'sqlite' | 'postgres'
  /** Tasks stored before the load begins; the request then reads. */
  readonly stored: number
}

const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello there' }] }
const v1 = { 'a2a-version': '1.0' }

function rpc(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

const base = { path: '/', headers: v1, chunks: 0, store: 'memory', stored: 0 } as const
const send = { ...base, body: rpc('SendMessage', { message }) } as const
const stream = { ...base, body: rpc('SendStreamingMessage', { message }), agent: 'stream' } as const
const old = {
  kind: 'message',
  messageId: 'm-1',
  role: 'user',
  parts: [{ kind: 'text', text: 'hello there' }],
}
const ranch = { role: 'user', parts: [{ type: 'text', text: 'hello there' }] }

/** What a customer writes; there are addresses in it, for the guards. */
const question =
  'Hello,\n\nmy name is Ann Example, and I have been a customer of yours since the spring of 2019. Last week I ordered a garden ' +
  'table from you, the long one of acacia, with four folding chairs and something to treat the wood with. The number of the order ' +
  'is A-1042. The confirmation, which came within the hour, said that everything would arrive on Tuesday. I took the day off for ' +
  'it, moved the old table out of the way with my neighbour, and then nobody came. There was no call, no card in the letter box, ' +
  'and the page of the carrier has said the same three words since Sunday evening.\n\nI do not mean to complain: your table before ' +
  'this one has stood in the rain for six years and is still in one piece. But we have guests on Saturday, eight of them, and I ' +
  'would like to know whether they will sit at a table. Could you please tell me where it is, when it will come, and whether I can ' +
  'still change the delivery address? My parents live two streets away, are at home all day and could take it in. Their address is ' +
  '12 Orchard Lane, and they can be reached at parents@example.com. You can write to me at ann@example.com as well, or call in the ' +
  'evening.\n\nThank you very much, and kind regards\nAnn\n\n> Thank you for your order A-1042! We will send it as soon as we can. ' +
  'Your garden table, chairs and oil will arrive on Tuesday between nine and one. Questions? Reply to this message, or visit ' +
  'https://shop.example.com/help?order=A-1042&utm_source=confirmation. Your team of the shop'

/** How each answer of the desk ends. */
export const deskEnd = 'Is there anything else that I can do for you?'

const chat = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: question }] }

/** The id of the task that readers ask for; the first one stored. */
export const knownTask = '00000000-0000-4000-8000-000000000000'

/** How long the agent of a slow load takes. */
export const slowMs = 200

/** Every load that is put on a server, by name. */
export const workloads = {
  message: { ...send, agent: 'message' },
  task: { ...send, agent: 'task' },
  lifecycle: { ...send, agent: 'lifecycle' },
  'stream-20': { ...stream, chunks: 20 },
  'stream-100': { ...stream, chunks: 100 },
  'stream-400': { ...stream, chunks: 400 },
  'task-sqlite': { ...send, agent: 'task', store: 'sqlite' },
  'task-postgres': { ...send, agent: 'task', store: 'postgres' },
  'stream-20-sqlite': { ...stream, chunks: 20, store: 'sqlite' },
  'get-task': { ...base, agent: 'task', stored: 100_000, body: rpc('GetTask', { id: knownTask }) },
  'list-1000': { ...base, agent: 'task', stored: 1_000, body: rpc('ListTasks', { pageSize: 50 }) },
  'list-100000': {
    ...base,
    agent: 'task',
    stored: 100_000,
    body: rpc('ListTasks', { pageSize: 50 }),
  },
  'task-0.3': { ...base, headers: {}, agent: 'task', body: rpc('message/send', { message: old }) },
  'task-ranch': {
    ...base,
    headers: {},
    path: '/rpc',
    agent: 'task',
    body: rpc('message/send', { message: ranch }),
  },
  slow: { ...send, agent: 'slow' },
  desk: {
    ...base,
    agent: 'desk',
    body: rpc('SendStreamingMessage', { message: chat }),
    expects: deskEnd,
  },
  subscribe: { ...base, agent: 'held', body: rpc('SubscribeToTask', { id: knownTask }) },
} satisfies Record<string, Workload>

/** The name of a load. */
export type WorkloadName = keyof typeof workloads

/** A load by its name. */
export function workloadOf(name: WorkloadName): Workload {
  return workloads[name]
}
