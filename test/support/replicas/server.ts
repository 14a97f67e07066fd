import { Client } from 'pg'
import type { HttpHandler } from '../../../src/bindings/http.ts'
import type { ServerOptions } from '../../../src/server/options.ts'
import { createServer as createAlone, type Server } from '../../../src/server/server.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { patient } from '../patient.ts'
import { postgresUrl } from '../postgres.ts'

export * from '../../../src/server/server.ts'

/** How many replicas stand for one server. */
const count = Number(process.env.REPLICAS ?? 1)
let schemas = 0

/**
 * Takes the place of `createServer` where tests run with `REPLICAS`: so many servers in this process on one database,
 * which answer requests in turn. What only one server can have is the first one's.
 * @throws Error where a store is given: such a test is about that store, and belongs into `leftOut`.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  if (options.store) throw new Error('Replicas share a database: put this test into `leftOut`')
  const url = await postgresUrl()
  const schema = `replicas_${process.pid}_${Date.now()}_${schemas++}`
  const stores = await Promise.all(
    Array.from({ length: count }, () =>
      openPostgresStore({ url, schema, pool: { readers: 2 }, logger: false }),
    ),
  )
  const limits = { ...patient, ...options.limits }
  const servers = await Promise.all(
    stores.map((store) => createAlone({ ...options, limits, store })),
  )
  return join(servers, async () => {
    for (const store of stores) await store.close()
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query(`DROP SCHEMA ${schema} CASCADE`)
    await client.end()
  })
}

function join(servers: readonly Server[], release: () => Promise<void>): Server {
  const [first] = servers
  if (!first) throw new Error('REPLICAS says how many servers stand for one')
  let closing: Promise<void> | undefined
  async function close(): Promise<void> {
    for (const server of servers) await server.close()
    await release()
  }
  return {
    ...first,
    handle: inTurn(servers.map(({ handle }) => handle)),
    localHandle: (boundTo) => inTurn(servers.map((server) => server.localHandle(boundTo))),
    setUrl(url) {
      for (const server of servers) server.setUrl(url)
    },
    async recover() {
      const [recovery] = await Promise.all(servers.map((server) => server.recover()))
      return recovery ?? { resumed: 0, failed: 0 }
    },
    async setAgents(agents) {
      for (const server of servers) await server.setAgents(agents)
    },
    close: () => (closing ??= close()),
  }
}

function inTurn(handlers: readonly HttpHandler[]): HttpHandler {
  let next = 0
  return (request) => {
    const handle = handlers[next++ % handlers.length]
    if (!handle) throw new Error('There is no server')
    return handle(request)
  }
}
