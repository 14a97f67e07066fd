/**
 * One of several replicas on one PostgreSQL, in a process of its own: `replica.ts <url> <waits|ends>`. Its agents: one
 * that answers at once, one that tells something every ten milliseconds, and one whose turns wait for ever in replicas
 * that wait, and end in the others. Told a `ReplicaOrder`, it does that and says so.
 */
import { setTimeout } from 'node:timers/promises'
import type { Agent } from '../../src/agents/agent.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { dist } from '../processes.ts'

/** What a replica is told to do. */
export type ReplicaOrder =
  /** Begin so many tasks whose turns wait; said when all have begun. */
  | { readonly begin: number }
  /** Wait until so many of them have begun here. */
  | { readonly await: number }
  /** Begin a task that tells something so often; answered with its id. */
  | { readonly tick: number }

const [url = '', role = ''] = process.argv.slice(2)
const { defineAgent } = await dist<typeof import('../../src/agents/index.ts')>('agents')
const { createServer, listen } = await dist<typeof import('../../src/server/index.ts')>('server')
const { openPostgresStore } = await dist<typeof import('../../src/store/index.ts')>('store')

let begun = 0
let awaited = 0
let reached = createDeferred<void>()
const agents: readonly Agent[] = [
  defineAgent({ name: 'bench' }, () => 'Echo: hello there'),
  defineAgent({ name: 'ticker' }, async function* (message, turn) {
    const [part] = message.parts
    const times = Number(part && 'text' in part ? part.text : 0)
    for (let i = 0; i < times; i++) {
      await setTimeout(10)
      yield turn.status('TASK_STATE_WORKING', `tick ${i}`)
    }
    yield 'done'
  }),
  defineAgent({ name: 'waiter', resumable: true }, async () => {
    if (++begun === awaited) reached.resolve()
    if (role === 'waits') await new Promise(() => {})
    return 'done'
  }),
]
const server = await createServer({ agents, store: await openPostgresStore({ url }) })
await server.recover()
const { port } = await listen(server, { port: 0, host: '127.0.0.1' })
process.on('message', (order: ReplicaOrder) => {
  void obey(order).then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ port })

async function obey(order: ReplicaOrder): Promise<object> {
  if ('tick' in order) return { taskId: await send('ticker', String(order.tick)) }
  const count = 'begin' in order ? order.begin : order.await
  awaited = count
  reached = createDeferred()
  if (begun >= count) reached.resolve()
  if ('begin' in order) for (let i = 0; i < count; i++) await send('waiter', 'wait')
  await reached.promise
  return { begun }
}

async function send(agent: string, text: string): Promise<string> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] } as const
  const configuration = { returnImmediately: true }
  const answer = await server.dispatch(agent)('SendMessage', { message, configuration }, {})
  return 'task' in answer ? answer.task.id : ''
}
