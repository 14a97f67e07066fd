import { createAllowList } from '../network/allow-list.ts'
import type { AddressGuard } from '../network/rules.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import type { Agent } from './agent.ts'
import {
  type AgentConfig,
  type ConfigEnvironment,
  protocolOf,
  toA2AAgentConfig,
  toConfiguredInfo,
  toOpenAIAgentConfig,
  validateModuleAgentConfig,
} from './config.ts'
import { invalidValue } from './config-error.ts'
import { askAgents } from './guards/judge.ts'
import { checkGuards, loadGuards } from './guards/load.ts'
import { withGuards } from './guards/with-guards.ts'
import { withLimits } from './limits.ts'
import { createMcpToolSource } from './mcp/tools.ts'
import { loadModuleAgent } from './module.ts'
import { OpenAIAgent } from './openai/agent.ts'
import { toOutputRules } from './output/config.ts'
import { withOutputSchema } from './output/with-schema.ts'
import { A2AAgent } from './remote/agent.ts'
import { loadToolModules } from './tool-module.ts'
import { type Tool, withOwnNames } from './tools.ts'

/** What agents made from a configuration get from around it. */
export interface AgentDeps {
  /** Where files of the configuration are looked for: the directory that it lies in. */
  readonly directory: string
  /**
   * The state of the modules' files, where modules are to be loaded anew with all that they import.
   * @internal
   */
  readonly moduleState?: string
  /** Variables that stand in for what the configuration leaves out. */
  readonly environment?: ConfigEnvironment
  /** Tools for every model of the configuration, beside its MCP servers. */
  readonly tools?: readonly Tool[]
  /** The agents of the same configuration, whom guards may ask for a verdict. */
  readonly agentOf?: (id: string) => Agent | undefined
  /** Where requests to the remote agent at this endpoint may go; as a client decides (`ClientOptions.reach`) if absent. */
  readonly reachOf?: (endpoint: string) => AddressGuard
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Gives numbers from 0 to 1 for the jitter of retries; `Math.random` if absent. */
  readonly random?: () => number
  /** Where it tells what it does; nowhere if absent. */
  readonly log?: Logger
}

/** Makes an agent whose configuration has been checked. */
export type AgentPlan = (deps: AgentDeps) => Agent | Promise<Agent>

/**
 * Checks what a configuration says of an agent, by the rules of its kind.
 *
 * @throws ConfigConversionError that names what is missing or wrong.
 */
export function planAgent(config: AgentConfig, environment?: ConfigEnvironment): AgentPlan {
  const plan = planKind(config, environment)
  const output = toOutputRules(config)
  const { id, guards } = config
  const checked: AgentPlan = output
    ? async (deps) => withOutputSchema(await plan(deps), output.schema, output)
    : plan
  if (!guards) return checked
  checkGuards(guards)
  return async (deps) => {
    const ready = await loadGuards(guards, deps)
    return withGuards(await checked(deps), ready, {
      owner: { agent: id },
      askMember: askAgents(deps.agentOf ?? (() => undefined)),
    })
  }
}

function planKind(config: AgentConfig, environment: ConfigEnvironment | undefined): AgentPlan {
  const protocol = protocolOf(config)
  if (protocol === 'module') {
    const { name, timeoutSeconds, maxRetries } = validateModuleAgentConfig(config)
    return async (deps) => {
      const agent = await loadModuleAgent(config, deps.directory, deps.moduleState)
      return withLimits(agent, { name, timeoutSeconds, maxRetries, ...around(deps) })
    }
  }
  if (protocol === 'a2a') {
    const remote = { ...toA2AAgentConfig(config), ...toConfiguredInfo(config) }
    return ({ reachOf, ...deps }) =>
      new A2AAgent({
        ...remote,
        ...around(deps),
        ...(reachOf && { reach: reachOf(config.endpoint) }),
      })
  }
  if (protocol === 'openai') {
    const model = { ...toOpenAIAgentConfig(config, environment), ...toConfiguredInfo(config) }
    const { mcpServers: servers = [], allowFiles: allow = [] } = config
    checkAllowed(allow)
    return async (deps) => {
      const place = { directory: deps.directory, state: deps.moduleState }
      const own = await loadToolModules(config.tools ?? [], place)
      return new OpenAIAgent({
        ...model,
        ...around(deps),
        tools: withOwnNames([...own, ...(deps.tools ?? [])]),
        files: { allow },
        toolSources: servers.map((server) => createMcpToolSource(server, deps.log)),
      })
    }
  }
  throw invalidValue('protocol', config.protocol, 'must be a2a, openai or module')
}

/**
 * Makes the agent of an `AgentConfig`. Remote agents and models are not contacted before they are needed, so one that
 * is down does not stop the start; a file that cannot be loaded does.
 *
 * @throws ConfigConversionError that names what is missing or wrong.
 */
export async function createAgentFromConfig(config: AgentConfig, deps: AgentDeps): Promise<Agent> {
  return planAgent(config, deps.environment)(deps)
}

function checkAllowed(entries: readonly string[]): void {
  for (const entry of entries)
    try {
      createAllowList([entry])
    } catch {
      throw invalidValue('allow_files', entry, 'must be a host, host:port, a range or *')
    }
}

type Surroundings = Pick<AgentDeps, 'clock' | 'random' | 'log'>

function around({ clock, random, log }: Surroundings): Surroundings {
  return { ...(clock && { clock }), ...(random && { random }), ...(log && { log }) }
}
