import type { HttpHandler } from '../bindings/http.ts'
import { createMcpBinding } from '../bindings/mcp/server.ts'
import { createOpenAIBinding, type OpenAIModel } from '../bindings/openai/server.ts'
import type { OpenAIRoute, RouteHandlers } from '../bindings/routes.ts'
import { historyExtension } from '../protocol/extensions.ts'
import type { Mount } from './mount.ts'
import type { ServerParts } from './parts.ts'

/** What answers clients that do not speak A2A: the server's agents as models and as tools. */
export interface Endpoints {
  readonly openai: RouteHandlers<OpenAIRoute>
  readonly mcp: HttpHandler
  close(): Promise<void>
}

/** Makes the endpoints. Agents are looked up at each request, so a changed team is a changed model. */
export function createEndpoints(
  { options, clock }: Pick<ServerParts, 'options' | 'clock'>,
  mounts: ReadonlyMap<string, Mount>,
): Endpoints {
  const { heartbeatMs } = options.timeouts ?? {}
  const origins = options.cors?.origins
  const mcp = createMcpBinding({
    offers: () => Promise.all([...mounts.values()].map(toOffer)),
    ...(Array.isArray(origins) && { allowedOrigins: origins }),
  })
  return {
    openai: createOpenAIBinding({
      dispatchOf: (model) => mounts.get(model)?.dispatch,
      models: () => [...mounts.values()].map(toModel),
      clock,
      ...(heartbeatMs !== undefined && { heartbeatMs }),
    }),
    mcp: mcp.handle,
    close: mcp.close,
  }
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
