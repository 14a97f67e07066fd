import { acceptsTools } from '../agents/tools.ts'
import { clientRoutingExtension } from '../protocol/extensions.ts'
import type { AgentManager } from './manager.ts'
import { supportsRouting } from './schedulers/routing.ts'
import type { TeamConfig } from './team-config.ts'

/**
 * What a team can do but its author hardly meant: a router none of whose members is known to route. Models route by
 * tools, members of the extension by their metadata, and a remote agent, which is not asked here, may declare it. Any
 * other member may still answer with a decision in JSON, which nobody can know before, so this is no error.
 */
export async function warningsOf(
  { id, scheduler, agents }: TeamConfig,
  manager: AgentManager,
): Promise<readonly string[]> {
  if (scheduler.type !== 'router' || agents.length < 2) return []
  for (const { agentId } of agents) if (await mayRoute(agentId, manager)) return []
  const reason = `no member can route: none is a model, and none declares ${clientRoutingExtension}`
  const effect = `unless one answers with {"delegate": …}, "${scheduler.defaultAgentId}" answers every message`
  return [`Team "${id}": ${reason}; ${effect}`]
}

async function mayRoute(id: string, manager: AgentManager): Promise<boolean> {
  const agent = manager.get(id)
  if (!agent) return false
  if (agent.kind === 'remote' || acceptsTools(agent)) return true
  return supportsRouting(await manager.info(id))
}
