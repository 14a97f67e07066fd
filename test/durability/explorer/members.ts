import type { Agent, AgentEvent, AgentReply, Turn } from '../../../src/agents/agent.ts'
import { A2AAgent } from '../../../src/agents/remote/agent.ts'
import type { Tool, ToolUser } from '../../../src/agents/tools.ts'
import { textOf } from '../../../src/protocol/task.ts'
import { createServer, listen } from '../../../src/server/index.ts'
import type { SchedulerConfig } from '../../../src/team/config.ts'
import { defineTeam, type Team } from '../../../src/team/team.ts'
import { member } from '../../fixtures/members.ts'
import type { World } from './explorer.ts'
import type { Ledger, Notes } from './ledger.ts'

/** Who takes note of what members are asked: a process, or what outlives it. */
type MemberNotes = Notes & { readonly alive?: boolean }

/** What a member says, and the words of it that nothing else has. */
export interface Told {
  readonly says: string
  readonly gives: string
}

/** A member that answers with its name around the question. */
export function worker(notes: MemberNotes, id: string): Agent {
  return telling(notes, id, (text) => ({ says: `${id}(${text})`, gives: `${id}(${text})` }))
}

/** A member that may not be asked again for an answer that the log has. */
export function telling(notes: MemberNotes, id: string, answer: (text: string) => Told): Agent {
  const own: MemberNotes = {
    note: (member, input) => notes.note(member, input, answer(input).gives),
    get alive() {
      return notes.alive !== false
    },
  }
  return scripted(own, id, (text) => answer(text).says)
}

/** A member that asks for something once, then answers with both. */
export function asker(notes: MemberNotes, id: string, question = `${id}: which one?`): Agent {
  return scripted(notes, id, (text, turn) =>
    turn.task ? `${id}[${text}]` : events(turn.ask(question)),
  )
}

/** A member that answers as the function says. */
export function scripted(
  notes: MemberNotes,
  id: string,
  answer: (text: string, turn: Turn) => AgentReply,
): Agent {
  return {
    ...member(id, (text, turn) => {
      // The members of a dead process do nothing more.
      if (notes.alive === false) return new Promise(() => {})
      notes.note(id, text)
      return answer(text, turn)
    }),
    resumable: true,
  }
}

/** A leader that calls its tools as a model would: each line `tool: text` of the message, then it answers. */
export function toolUser(notes: MemberNotes, id: string): ToolUser {
  return {
    ...scripted(notes, id, () => ''),
    acceptsTools: true,
    async *process(message, turn, tools: readonly Tool[] = []): AsyncGenerator<AgentEvent> {
      if (notes.alive === false) await new Promise(() => {})
      const text = textOf(message.parts)
      notes.note(id, text)
      const results: string[] = []
      for (const tool of tools) {
        const context = { signal: turn.signal, turn }
        results.push(String(await tool.execute({ message: `${text} by ${tool.name}` }, context)))
      }
      yield `${id} has ${results.join(' and ')}`
    },
  }
}

/** A team of agents by their ids. */
export function team(
  id: string,
  agents: Readonly<Record<string, Agent>>,
  scheduler: SchedulerConfig,
): Team {
  return defineTeam({ id, name: id, agents, scheduler })
}

/** A workflow through all of these agents. */
export function chain(id: string, agents: Readonly<Record<string, Agent>>): Team {
  const steps = Object.keys(agents).map((agentId) => ({ agentId }))
  return team(id, agents, { type: 'workflow', steps })
}

/** A remote agent in a server that outlives the process; what it was asked, and how its tasks ended, are facts. */
export function remoteWorld(make: (ledger: Ledger) => Agent) {
  return async (ledger: Ledger): Promise<World> => {
    const server = await createServer({ agents: [make(ledger)], logger: false })
    const { url, close } = await listen(server, { port: 0, host: '127.0.0.1', logger: false })
    return {
      urls: { remote: url },
      async facts() {
        const { tasks } = await server.dispatch()('ListTasks', {}, {})
        return tasks.map(({ status }) => status.state).sort()
      },
      close,
    }
  }
}

/** The remote agent of a world, as a member. */
export function remote(world: World, id = 'remote'): A2AAgent {
  return new A2AAgent({
    endpoint: world.urls?.remote ?? '',
    timeoutSeconds: 20,
    maxRetries: 0,
    taskHandling: 'PollUntilComplete',
    id,
    name: id,
  })
}

/** Events as an agent gives them. */
export async function* events(...all: readonly AgentEvent[]): AsyncGenerator<AgentEvent> {
  yield* all
}
