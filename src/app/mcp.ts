import { dirname, resolve } from 'node:path'
import { serveMcpStdio } from '../bindings/mcp/server.ts'
import { createServer } from '../server/server.ts'
import { type Logger, toLogger } from '../shared/log.ts'
import type { Config } from './config/file.ts'
import type { ConfigVariables } from './config/values.ts'
import { createRoster } from './roster.ts'

/** How a configuration is offered over MCP. */
export interface McpServeOptions {
  /** The file that the configuration was read from. */
  readonly path: string
  /** Variables that the configuration may name. */
  readonly env: ConfigVariables
  /** Where warnings and errors go; stderr if absent, nowhere where it is `false`. */
  readonly logger?: Logger | false
}

/** A configuration that is offered over MCP. */
export interface McpServing {
  /** Ends it. */
  close(): Promise<void>
}

/**
 * Offers the teams and agents of a configuration as MCP tools over this process's stdin and stdout. Tasks are kept in
 * memory: they live as long as the client that started the process.
 * @throws A2AError `unsupportedOperation` where the package `@modelcontextprotocol/server` is not installed.
 */
export async function serveConfigOverMcp(
  config: Config,
  { path, env, logger: given }: McpServeOptions,
): Promise<McpServing> {
  const directory = dirname(resolve(path))
  const logger = toLogger(given)
  const roster = await createRoster(config, { directory, environment: env, log: logger })
  const { agents, prices } = roster
  const server = await createServer({ agents, logger, ...(prices && { prices }) })
  const offers = await Promise.all(
    roster.agents.map(async (agent) => {
      const { id, name, description, details } = await agent.info()
      const { outputSchema } = details ?? {}
      return { id, name, description, outputSchema, dispatch: server.dispatch(id) }
    }),
  )
  const stdio = await serveMcpStdio({ offers: () => offers })
  return {
    async close() {
      await stdio.close()
      await server.close()
      await roster.close()
    },
  }
}
