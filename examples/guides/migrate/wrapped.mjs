import { textOf } from 'corral'
import { defineTeam, runTeam } from 'corral/team'

/** Stands for what you have: a graph, an agent, a runner, anything that a function can call. */
const graph = { invoke: async ({ text }) => ({ answer: `${text}, by the graph` }) }

export const team = defineTeam({
  id: 'mixed',
  name: 'Mixed',
  agents: {
    graph: async ({ parts }) => (await graph.invoke({ text: textOf(parts) })).answer,
    editor: ({ parts }) => `Edited: ${textOf(parts)}`,
  },
  scheduler: { type: 'workflow', steps: [{ agentId: 'graph' }, { agentId: 'editor' }] },
})

const run = await runTeam(team, 'A book about bees')
console.log(run.text)
