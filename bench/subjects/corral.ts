import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Agent } from '../../src/agents/agent.ts'
import type { Message } from '../../src/protocol/types.ts'
import type { Server } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import type { Store, Write } from '../../src/store/store.ts'
import { startPostgres } from '../../test/support/postgres-server.ts'
import { createDesk } from '../desk.ts'
import { dist } from '../processes.ts'
import type { Serving } from '../subject.ts'
import { knownTask, slowMs, type Workload } from '../workloads.ts'

/** Corral as it is shipped: the compiled package, its own agent kinds and stores. */
export async function serveCorral(workload: Workload): Promise<Serving> {
  const { createServer, listen } = await dist<typeof import('../../src/server/index.ts')>('server')
  const store = await openStore(workload)
  if (workload.stored > 0) await fill(store, workload.stored)
  const news = createDeferred<void>()
  const agent = await createAgent(workload, news.promise)
  const server = await createServer({ agents: [agent], store })
  const { port } = await listen(server, { port: 0, host: '127.0.0.1' })
  if (workload.agent !== 'held') return { port }
  return { port, taskId: await openTask(server), fire: () => news.resolve() }
}

/** A task that works until the news comes. */
async function openTask(server: Server): Promise<string> {
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } as const
  const configuration = { returnImmediately: true }
  const answer = await server.dispatch()('SendMessage', { message, configuration }, {})
  return 'task' in answer ? answer.task.id : ''
}

async function openStore(workload: Workload): Promise<Store> {
  const { createMemoryStore, openPostgresStore, openSqliteStore } =
    await dist<typeof import('../../src/store/index.ts')>('store')
  if (workload.store === 'memory')
    return createMemoryStore({ maxTasks: Math.max(10_000, workload.stored) })
  if (workload.store === 'postgres') {
    // Ends with this process.
    const { url } = await startPostgres({ durable: true })
    return openPostgresStore({ url })
  }
  const folder = mkdtempSync(join(tmpdir(), 'corral-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return openSqliteStore(join(folder, 'tasks.db'))
}

async function createAgent({ agent, chunks }: Workload, news: Promise<void>): Promise<Agent> {
  if (agent === 'desk') return createDesk()
  const { defineAgent } = await dist<typeof import('../../src/agents/index.ts')>('agents')
  const echo = (message: Message): string => {
    const [part] = message.parts
    return `Echo: ${part && 'text' in part ? part.text : ''}`
  }
  const name = { name: 'Bench' }
  if (agent === 'message') return defineAgent(name, (message, turn) => turn.reply(echo(message)))
  if (agent === 'task') return defineAgent(name, echo)
  if (agent === 'lifecycle')
    return defineAgent(name, async function* (message, turn) {
      yield turn.status('TASK_STATE_WORKING')
      yield turn.artifact({
        artifactId: 'response',
        name: 'response',
        parts: [{ text: echo(message) }],
      })
      yield turn.status('TASK_STATE_COMPLETED')
    })
  if (agent === 'slow')
    return defineAgent(name, async (message, turn) => {
      await new Promise((resolve) => setTimeout(resolve, slowMs))
      return turn.reply(echo(message))
    })
  if (agent === 'held')
    return defineAgent(name, async function* () {
      await news
      yield 'the event'
      await new Promise(() => {})
    })
  return defineAgent(name, async function* () {
    for (let i = 0; i < chunks; i++) yield `chunk ${i} `
  })
}

async function fill(store: Store, count: number): Promise<void> {
  const scope = { agent: 'bench', tenant: '', owner: '' }
  const start = Date.UTC(2026, 0, 1)
  for (let from = 0; from < count; from += 1_000) {
    const writes = Array.from({ length: Math.min(1_000, count - from) }, (_, i): Write => {
      const id = from + i === 0 ? knownTask : crypto.randomUUID()
      const contextId = crypto.randomUUID()
      const timestamp = new Date(start + (from + i) * 1_000).toISOString()
      const status = { state: 'TASK_STATE_COMPLETED', timestamp } as const
      const history = [
        {
          messageId: 'm-1',
          role: 'ROLE_USER',
          parts: [{ text: 'hello there' }],
          taskId: id,
          contextId,
        },
      ] as const
      const task = {
        id,
        contextId,
        status,
        artifacts: [
          { artifactId: 'response', name: 'response', parts: [{ text: 'Echo: hello there' }] },
        ],
        history,
      }
      const work = { busy: false, generation: 1, build: '' }
      const head = { id, scope, contextId, state: status.state, timestamp, ...work }
      return {
        type: 'task',
        head,
        expectedVersion: 0,
        records: [{ seq: 1, kind: 'event', event: { task } }],
        task,
      }
    })
    await store.commit(writes)
  }
}
