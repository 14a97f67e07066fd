/**
 * What a hop costs, in a process of its own: `hop.ts <team|direct>`. A workflow of three local members, or one agent
 * that calls the same three functions, behind the same operations. Told how many messages, tells the CPU time of each.
 */
import type { Agent } from '../../src/agents/agent.ts'
import type { Message } from '../../src/protocol/types.ts'
import { dist } from '../subjects/corral.ts'

const { defineAgent } = await dist<typeof import('../../src/agents/index.ts')>('agents')
const { defineTeam } = await dist<typeof import('../../src/team/index.ts')>('team')
const { createServer } = await dist<typeof import('../../src/server/index.ts')>('server')

const work = ['a', 'b', 'c'].map((letter) => (text: string) => `${text}${letter}`)
const agent = process.argv[2] === 'team' ? createTeam() : createDirect()
const server = await createServer({ agents: [agent] })
const dispatch = server.dispatch()

process.on('message', (messages: number) => {
  void run(messages).then((cpuMicros) => process.send?.({ cpuMicros }))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })

async function run(messages: number): Promise<number> {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello ' }] } as const
  const before = process.cpuUsage()
  for (let i = 0; i < messages; i++) {
    const answer = await dispatch('SendMessage', { message }, {})
    const text = 'task' in answer && answer.task.artifacts?.[0]?.parts[0]
    if (!text || !('text' in text) || text.text !== 'hello abc') throw new Error('A wrong answer')
    // Answers arrive within microtasks; the loop must turn as it does under a real load.
    if (i % 32 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / messages
}

function createTeam(): Agent {
  const members = work.map((step) => defineAgent({ name: 'Member' }, (m) => step(textOf(m))))
  const agents = Object.fromEntries(members.map((member, i) => [`member-${i}`, member]))
  const steps = Object.keys(agents).map((agentId) => ({ agentId }))
  return defineTeam({ id: 'team', name: 'Team', agents, scheduler: { type: 'workflow', steps } })
}

function createDirect(): Agent {
  return defineAgent({ name: 'Direct' }, (message) =>
    work.reduce((text, step) => step(text), textOf(message)),
  )
}

function textOf({ parts }: Message): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}
