import { createHook } from 'node:async_hooks'
import type { Agent } from '../../src/agents/agent.ts'
import { createServer, type Server } from '../../src/server/index.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'

/** What a request has cost. */
export interface Costs {
  commits: number
  /** Whole tasks handed to the store: each is a copy of the task's lists. */
  snapshots: number
  records: number
  reads: number
  timers: number
  promises: number
}

/** A server whose costs are counted. */
export interface CountedServer {
  readonly server: Server
  /** What some work costs, once everything has been made that is made once. */
  costOf(work: () => Promise<void>): Promise<Costs>
}

/** Serves an agent over a memory store and counts what its requests cost. */
export async function createCountedServer(agent: Agent): Promise<CountedServer> {
  const costs = nothing()
  const clock = {
    now: systemClock.now,
    elapsed: systemClock.elapsed,
    after(ms: number, callback: () => void) {
      costs.timers++
      return systemClock.after(ms, callback)
    },
  }
  const store = counted(createMemoryStore(), costs)
  const server = await createServer({ agents: [agent], store, clock })
  const hook = createHook({
    init(_id, type) {
      if (type === 'PROMISE') costs.promises++
    },
  })
  return {
    server,
    async costOf(work) {
      await work()
      Object.assign(costs, nothing())
      hook.enable()
      await work()
      hook.disable()
      return { ...costs }
    },
  }
}

function nothing(): Costs {
  return { commits: 0, snapshots: 0, records: 0, reads: 0, timers: 0, promises: 0 }
}

/** What a store is asked for. */
export type StoreCosts = Pick<Costs, 'commits' | 'snapshots' | 'records' | 'reads'>

/** A store that counts what it is asked for. */
export function counted(inner: Store, costs: StoreCosts): Store {
  const read = <A extends unknown[], R>(work: (...args: A) => R) => {
    return (...args: A): R => {
      costs.reads++
      return work(...args)
    }
  }
  return {
    ...inner,
    commit(writes) {
      costs.commits++
      for (const write of writes) {
        if (write.type !== 'task') continue
        costs.records += write.records.length
        if (write.task) costs.snapshots++
      }
      return inner.commit(writes)
    },
    get: read(inner.get),
    records: read(inner.records),
    list: read(inner.list),
    findByKey: read(inner.findByKey),
    pushConfigs: read(inner.pushConfigs),
  }
}

/** Sends one JSON-RPC request of A2A 1.0 and reads its whole answer. */
export async function call(server: Server, method: string, params: object): Promise<string> {
  const { body = '' } = await server.handle({
    method: 'POST',
    path: '/',
    query: '',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  if (typeof body === 'string') return body
  let text = ''
  for await (const chunk of body) text += chunk
  return text
}

/** The parameters of a message. */
export const hello = {
  message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] },
}
