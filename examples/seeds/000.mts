/** Seed 000 as a program: a manager, a team that is an agent, a team in a team, a server. Run: npx tsx examples/seeds/000.mts */
import { deepEqual, equal } from 'node:assert/strict'
import { textOf, userMessage } from 'corral'
import { createAgentFromConfig, defineAgent } from 'corral/agents'
import { AgentManager, Team, TeamServer } from 'corral/team'

// AgentManager: the registry that all teams share.
const manager = new AgentManager()
const researcher = defineAgent(
  { id: 'researcher', name: 'Researcher', abilities: ['research'] },
  ({ parts }) => `Facts about ${textOf(parts)}.`,
)
const writer = defineAgent(
  { id: 'writer', name: 'Writer', abilities: ['writing', 'research'] },
  ({ parts }) => `${textOf(parts)} And so the story goes.`,
)
await manager.register(researcher)
await manager.register(writer)

// Team: one agent to the outside, a workflow inside.
const authors = new Team(
  {
    id: 'authors',
    name: 'Authors',
    description: 'Researches and writes',
    agents: [
      { agentId: 'researcher', role: 'first' },
      { agentId: 'writer', role: 'second' },
    ],
    scheduler: {
      type: 'Workflow',
      steps: [
        { agentId: 'researcher', order: 1 },
        { agentId: 'writer', order: 2 },
      ],
    },
  },
  manager,
)
const { name, capabilities } = await authors.info()
console.log(`${name} can do: ${capabilities.join(', ')}`)
deepEqual(capabilities, ['research', 'writing'])

const story = await authors.process(userMessage('dragons'))
console.log(textOf(story.parts))
equal(textOf(story.parts), 'Facts about dragons. And so the story goes.')
equal((await authors.healthCheck()).healthy, true)

// TeamServer: the team at /rpc, for whoever speaks A2A.
const server = new TeamServer(authors, 0, { host: '127.0.0.1' })
await server.start()
console.log(`The team is ${server.state} at ${server.url}/rpc`)

// A2AAgent: the served team is a member of another team, which a supervisor leads.
const remote = await createAgentFromConfig(
  {
    id: 'authors-remote',
    name: 'Authors elsewhere',
    endpoint: `${server.url}/rpc`,
    protocol: 'A2A',
    timeoutSeconds: 30,
    maxRetries: 3,
  },
  { directory: '.' },
)
manager.registerWithId('authors-remote', remote)
manager.registerWithId(
  'editor',
  defineAgent({ name: 'Editor' }, ({ parts }) => {
    const answer = parts.find((_, i) => / answered:\n$/.test(textOf(parts.slice(i - 1, i))))
    if (answer) return `Edited: ${textOf([answer])}`
    return JSON.stringify({ delegate: { agent_id: 'authors-remote', message: 'castles' } })
  }),
)
const publishers = new Team(
  {
    id: 'publishers',
    name: 'Publishers',
    description: 'Edits what the authors write',
    agents: [{ agentId: 'editor' }, { agentId: 'authors-remote' }],
    scheduler: { type: 'Supervisor', supervisorAgentId: 'editor' },
  },
  manager,
)
const edited = textOf((await publishers.process(userMessage('A story, please'))).parts)
console.log(edited)
equal(edited, 'Edited: Facts about castles. And so the story goes.')

await remote.close?.()
await server.shutdown()
equal(server.state, 'Shutdown')
