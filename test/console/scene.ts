import { onTestFinished } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { type ConsoleOptions, createConsole } from '../../src/console/index.ts'
import { textOf } from '../../src/protocol/task.ts'
import {
  bearer,
  createServer,
  listen,
  type Server,
  type ServerOptions,
} from '../../src/server/index.ts'
import { defineTeam, type Team } from '../../src/team/index.ts'
import { type Answer, ask, type Question } from '../server/asking.ts'

/** A server with a console, and what asks it. */
export interface Scene {
  readonly url: string
  readonly server: Server
  /** Asks below `/console/api`. */
  api(path: string, question?: Question): Promise<Answer>
  /** Sends a message to an agent and gives the task's id. */
  send(text: string, options?: { agent?: string; who?: string; taskId?: string }): Promise<string>
}

/** Who may call where the server asks for credentials. */
export const tokens: Parameters<typeof bearer>[0]['tokens'] = {
  'ann-token': 'ann',
  'bob-token': 'bob',
  'op-token': { userId: 'op', scopes: ['operator'] },
  'reader-token': { userId: 'ann', scopes: ['tasks:read'] },
  'narrow-token': { userId: 'ann', scopes: ['tasks:read', 'agent:echo'] },
}

/** The header of one of them. */
export function as(who: string): { readonly authorization: string } {
  return { authorization: `Bearer ${who}-token` }
}

/** Answers, asks, fails, or works until it is cancelled, as it is told. */
export const worker = defineAgent(
  { name: 'Worker', abilities: ['work'] },
  async function* (message, turn) {
    const text = textOf(message.parts)
    if (text.startsWith('ask')) return yield turn.ask('Which one?')
    if (text.startsWith('fail')) throw new Error('secret')
    if (text.startsWith('work')) {
      yield turn.status('TASK_STATE_WORKING')
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      return
    }
    yield `done: ${text}`
  },
)

const echo = defineAgent({ name: 'Echo' }, (message) => `Echo: ${textOf(message.parts)}`)

/** Two members in a row, then an approval. */
export function createPair(): Team {
  return defineTeam({
    id: 'pair',
    name: 'Pair',
    agents: { first: (message) => `1 ${textOf(message.parts)}`, second: () => 'two' },
    scheduler: {
      type: 'workflow',
      steps: [
        { agentId: 'first' },
        { agentId: 'second', maxRetries: 1 },
        { approval: { question: 'Send it?' } },
      ],
    },
  })
}

interface SceneOptions extends Partial<Omit<ServerOptions, 'console'>> {
  /** Whether callers need a token. */
  readonly isClosed?: boolean
  readonly console?: ConsoleOptions
  readonly host?: string
}

/** Serves a worker, an echo and a team with a console on a free port. */
export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const { isClosed = false, console, host = '127.0.0.1', ...rest } = options
  const server = await createServer({
    agents: [worker, echo, createPair()],
    pushNotifications: true,
    timeouts: { shutdownMs: 0 },
    logger: false,
    ...(isClosed && { auth: { authenticators: [bearer({ tokens })] } }),
    ...rest,
    console: createConsole(console),
  })
  const listening = await listen(server, { port: 0, host, logger: false })
  onTestFinished(() => listening.close())
  const url = `http://127.0.0.1:${listening.port}`
  return {
    url,
    server,
    api: (path, question) => ask(`${url}/console/api/${path}`, question),
    async send(text, { agent = 'worker', who, taskId } = {}) {
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
      const configuration = { returnImmediately: text.startsWith('work') }
      const headers = { ...json, 'a2a-version': '1.0', ...(who !== undefined && as(who)) }
      const body = JSON.stringify({
        message: { ...message, ...(taskId !== undefined && { taskId }) },
        configuration,
      })
      const answer = await ask(`${url}/agents/${agent}/message:send`, { headers, body })
      return answer.json.task.id
    },
  }
}

/** What a browser page sends with JSON. */
export const json = { 'content-type': 'application/json' } as const

/** A POST of JSON. */
export function posted(body: unknown, headers: Record<string, string> = {}): Question {
  return { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) }
}
