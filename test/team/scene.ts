import { onTestFinished } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import { TeamServer, type TeamServerOptions } from '../../src/app/team-server.ts'
import type { ClientOptions } from '../../src/client/config.ts'
import { A2AClient } from '../../src/client/index.ts'
import { answerParts, textOf } from '../../src/protocol/task.ts'
import type { SendMessageResponse, StreamResponse } from '../../src/protocol/types.ts'
import type { SchedulerConfig } from '../../src/team/config.ts'
import { defineTeam, type Team } from '../../src/team/team.ts'

/** A team of these agents; a workflow through all of them where nothing else is said. */
export function teamOf(
  agents: Readonly<Record<string, Agent>>,
  id = 'team',
  scheduler?: SchedulerConfig,
): Team {
  const steps = Object.keys(agents).map((agentId) => ({ agentId }))
  return defineTeam({
    id,
    name: `Team ${id}`,
    description: 'A team for tests',
    agents,
    scheduler: scheduler ?? { type: 'workflow', steps },
  })
}

/** Serves a team on a free port until the test ends; gives its base URL. */
export async function serve(team: Team, options: TeamServerOptions = {}): Promise<string> {
  const server = new TeamServer(team, 0, { host: '127.0.0.1', ...options })
  await server.start()
  onTestFinished(() => server.shutdown())
  return server.url ?? ''
}

/** A remote agent as a member. */
export function remote(endpoint: string, id = 'remote'): A2AAgent {
  const agent = new A2AAgent({
    endpoint,
    timeoutSeconds: 20,
    maxRetries: 0,
    taskHandling: 'PollUntilComplete',
    id,
    name: id,
  })
  onTestFinished(() => agent.close())
  return agent
}

/** A client of an agent at this URL, closed when the test ends. */
export function connect(url: string, options: ClientOptions = {}): A2AClient {
  const client = new A2AClient({ serverUrl: url, ...options })
  onTestFinished(() => client.close())
  return client
}

/** The id of the task that an answer is. */
export function taskOf(answer: SendMessageResponse) {
  if (!('task' in answer)) throw new Error('The answer is a message, not a task')
  return answer.task
}

/** The text of an answer, task or message. */
export function answerText(answer: SendMessageResponse): string {
  return textOf('task' in answer ? answerParts(answer.task) : answer.message.parts)
}

/** The texts of the chunks in a stream, in order. */
export function chunksOf(events: readonly StreamResponse[]): readonly string[] {
  return events.flatMap((event) =>
    'artifactUpdate' in event ? [textOf(event.artifactUpdate.artifact.parts)] : [],
  )
}
