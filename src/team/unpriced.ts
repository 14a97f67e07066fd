import type { Agent, Turn } from '../agents/agent.ts'
import { findPrice, type ModelPrices } from '../agents/prices.ts'
import type { Usage } from '../protocol/usage.ts'
import type { AgentManager } from './manager.ts'
import type { TeamConfig } from './team-config.ts'
import { isTeam } from './validate.ts'

/** Names beyond this many are not told any more: a remote agent may call its models what it likes. */
const maxNames = 100

/** Makes what warns of models that a team with a limit in money cannot price, once each. */
export function createUnpricedWarning(team: string): (usage: Usage, turn: Turn) => void {
  const told = new Set<string>()
  return ({ model = '' }, { log }) => {
    if (told.has(model) || told.size >= maxNames) return
    told.add(model)
    const which = model === '' ? 'Usage that names no model' : `The model "${model}"`
    log.warn(
      { team, ...(model !== '' && { model }) },
      `${which} has no price, so max_cost_usd does not count it: add it to prices`,
    )
  }
}

/**
 * The models that a team with a limit in money reaches, itself or by teams in it, and that have no price: a file's
 * author hardly meant them to count as nothing. Remote members may tell what they cost, which nobody can know before.
 */
export async function unpricedWarnings(
  { id, budget, agents }: TeamConfig,
  manager: AgentManager,
  prices: ModelPrices,
): Promise<readonly string[]> {
  if (budget?.maxCostUsd === undefined) return []
  const models = new Set<string>()
  for (const agent of reached(agents, manager)) {
    const { model } = agent.kind === 'model' ? (await agent.info()).metadata : {}
    if (model !== undefined && !findPrice(prices, model)) models.add(model)
  }
  return [...models].map(
    (model) =>
      `Team "${id}": the model "${model}" has no price, so max_cost_usd does not count it; add [prices."${model}"]`,
  )
}

/** The members of a team, and those of teams among them. */
function* reached(members: TeamConfig['agents'], manager: AgentManager): Generator<Agent> {
  for (const { agentId } of members) {
    const agent = manager.get(agentId)
    if (!agent) continue
    if (isTeam(agent)) yield* reached(agent.config.agents, agent.manager)
    else yield agent
  }
}
