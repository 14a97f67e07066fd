import type { HttpHandler } from '../bindings/http.ts'
import { createMcpBinding } from '../bindings/mcp/server.ts'
import { createOpenAIBinding, type OpenAIModel } from '../bindings/openai/server.ts'
import { historyExtension } from '../protocol/extensions.ts'
import type { Mount, Shared } from './mount.ts'

/** The ways in for clients that do not speak A2A: the server's agents as models and as tools. */
export interface Doors {
  /** What answers at this path; undefined where no door is. */
  at(path: string): HttpHandler | undefined
  close(): Promise<void>
}

/** Opens the doors. Agents are looked up at each request, so a changed team is a changed model. */
export function createDoors(
  { options, clock }: Pick<Shared, 'options' | 'clock'>,
  mounts: ReadonlyMap<string, Mount>,
): Doors {
  const { heartbeatMs } = options.timeouts ?? {}
  const origins = options.cors?.origins
  const openai = createOpenAIBinding({
    dispatchOf: (model) => mounts.get(model)?.dispatch,
    models: () => [...mounts.values()].map(toModel),
    clock,
    ...(heartbeatMs !== undefined && { heartbeatMs }),
  })
  const mcp = createMcpBinding({
    offers: () => Promise.all([...mounts.values()].map(toOffer)),
    ...(Array.isArray(origins) && { allowedOrigins: origins }),
  })
  return {
    at(path) {
      if (path === '/mcp') return mcp.handle
      return isOpenAIPath(path) ? openai : undefined
    },
    close: mcp.close,
  }
}

function isOpenAIPath(path: string): boolean {
  return (
    path === '/v1/chat/completions' ||
    path === '/v1/chat' ||
    path === '/v1/models' ||
    path.startsWith('/v1/models/')
  )
}

function toModel({ id, identity }: Mount): OpenAIModel {
  const extensions = identity.known().details?.extensions ?? []
  return { id, readsHistory: extensions.some(({ uri }) => uri === historyExtension) }
}

async function toOffer({ id, identity, dispatch }: Mount): Promise<{
  readonly id: string
  readonly name: string
  readonly description: string
  readonly dispatch: Mount['dispatch']
}> {
  const { name, description } = await identity.info()
  return { id, name, description, dispatch }
}
