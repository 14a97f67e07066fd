import { once } from 'node:events'
import type { Command } from 'commander'
import { serveConfigOverMcp } from '../../team/index.ts'
import { addCommand, exits } from '../command.ts'
import { readConfig } from '../config.ts'
import { createLogger } from '../logger.ts'
import { readVariables, variablesHelp } from '../variables.ts'

/** Adds `corral mcp`. */
export function addMcpCommand(program: Command): void {
  addCommand(program, {
    usage: 'mcp <file>',
    description:
      'offer the teams and agents of a file as MCP tools over stdin and stdout, for programs that start MCP servers; needs the package @modelcontextprotocol/server',
    examples: ['corral mcp team.toml'],
  })
    .option('--env <file>', variablesHelp)
    .action(exits(mcpCommand))
}

interface McpFlags {
  readonly debug?: boolean
  readonly env?: string
}

/** Stdout is the protocol's, so everything else goes to stderr. */
async function mcpCommand(file: string, { debug = false, env: path }: McpFlags): Promise<number> {
  const logger = createLogger({ level: 'warn', debug })
  const env = await readVariables(path)
  const config = await readConfig(file, env)
  const offered = await serveConfigOverMcp(config, { path: file, env, logger })
  const left = new AbortController()
  const { signal } = left
  const events = [once(process.stdin, 'end', { signal }), once(process.stdin, 'close', { signal })]
  const signals = [once(process, 'SIGINT', { signal }), once(process, 'SIGTERM', { signal })]
  await Promise.race([...events, ...signals])
  left.abort()
  await Promise.allSettled([...events, ...signals])
  await offered.close()
  process.exit(0)
}
