import { bearerAuth } from '../../client/auth.ts'
import { A2AClient } from '../../client/client.ts'
import { userMessage } from '../../protocol/build.ts'
import type { Message, Task } from '../../protocol/types.ts'
import type { A2AConfig } from '../agent/config.ts'
import { exchange } from '../agent/exchange.ts'
import { fromA2A, type NextIds, nextIds } from '../agent/incoming.ts'
import { messageOf } from '../base/errors.ts'
import { type SpokenMessage, spoken, type ToolMessage } from '../domain/conversation.ts'
import { SimulationFault } from '../results/fault.ts'
import { scenarioText, type User, type UserBriefing, type UserSimulator } from './user.ts'

/** Lets another A2A agent play the user: it gets the scenario first, then whatever the agent under test says. */
export function createA2AUser(config: A2AConfig): UserSimulator {
  const client = new A2AClient({
    serverUrl: config.endpoint,
    timeouts: { requestMs: config.timeout * 1000 },
    verifySsl: config.verifySsl,
    ...(config.credentialOrigins && { credentialOrigins: config.credentialOrigins }),
    ...(config.authToken !== undefined && { auth: bearerAuth(config.authToken) }),
  })
  return {
    kind: 'a2a',
    model: config.endpoint,
    refuses: (task) => (task.user_scenario ? undefined : `Task ${task.id} has no user_scenario`),
    start: (briefing) => createPlayer(client, briefing),
    close: () => client.close(),
  }
}

function createPlayer(client: A2AClient, { task }: UserBriefing): User {
  let ids: NextIds = {
    contextId: undefined,
    taskId: undefined,
    artifactsRead: {},
  }
  let first = true
  return {
    async next(input, signal) {
      const said = wordsOf(input)
      const text = first
        ? `${instructions}\n<scenario>\n${scenarioText(task)}\n</scenario>\n\n${said}`
        : said
      first = false
      const answer = await ask(client, toMessage(text, ids), signal)
      const { content } = fromA2A(answer, ids)
      ids = { ...nextIds(answer), contextId: ids.contextId ?? nextIds(answer).contextId }
      return spoken('user', content)
    },
  }
}

const instructions =
  'Play the customer of this scenario. Answer with their next words only. End with ###STOP### when you are done.'

async function ask(
  client: A2AClient,
  message: Message,
  signal: AbortSignal,
): Promise<Task | Message> {
  try {
    const card = await client.fetchAgentCard({ signal })
    return await exchange(client, { message, card, signal, onTask: () => {} })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SimulationFault) throw new SimulationFault('user_error', error.message)
    throw new SimulationFault('infrastructure_error', `The user's agent: ${messageOf(error)}`)
  }
}

function toMessage(text: string, { contextId, taskId }: NextIds): Message {
  return userMessage(text, {
    ...(contextId !== undefined && { contextId }),
    ...(taskId !== undefined && { taskId }),
  })
}

function wordsOf(input: SpokenMessage | readonly ToolMessage[]): string {
  return 'role' in input ? (input.content ?? '') : input.map(({ content }) => content).join('\n')
}
