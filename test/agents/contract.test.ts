import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Agent, AgentReply, Turn } from '../../src/agents/agent.ts'
import { withLimits } from '../../src/agents/create.ts'
import { createEchoAgent, defineAgent, fromRunnable } from '../../src/agents/function.ts'
import { loadModuleAgent } from '../../src/agents/module.ts'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import { fromMessageHandler } from '../../src/compat/message-handler.ts'
import { textOf, userMessage } from '../../src/protocol/task.ts'
import type { Message } from '../../src/protocol/types.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { withSignal } from '../../src/shared/async.ts'
import { defineTeam } from '../../src/team/team.ts'
import { openModelServer } from '../../src/testing/index.ts'
import { describeAgent, type OpenAgent } from '../contracts/agent.ts'

const never = new Promise<never>(() => {})

function answer(message: Message, turn: Turn): AgentReply {
  const text = textOf(message.parts)
  return text === 'wait' ? withSignal(never, turn.signal) : `You said: ${text}`
}

async function* speak(message: Message, turn: Turn): AsyncGenerator<string> {
  yield 'You said: '
  const text = textOf(message.parts)
  if (text === 'wait') await withSignal(never, turn.signal)
  yield text
}

const create = (): Agent => defineAgent({ name: 'Function', resumable: true }, answer)

describeAgent('a function', {
  open: () => ({ agent: create() }),
  resumable: true,
  hears: true,
})

describeAgent('a generator', {
  open: () => ({ agent: defineAgent({ name: 'Generator' }, speak) }),
  resumable: false,
  hears: true,
})

describeAgent('an object with run(text)', {
  open: () => ({ agent: fromRunnable({ run: (text) => `You said: ${text}` }) }),
  resumable: false,
  hears: false,
})

describeAgent('the echo', {
  open: () => ({ agent: createEchoAgent() }),
  resumable: true,
  hears: false,
})

describeAgent('a function with limits', {
  open: () => ({ agent: withLimits(create(), { name: 'F', timeoutSeconds: 30, maxRetries: 1 }) }),
  resumable: true,
  hears: true,
})

describeAgent('a file', {
  async open() {
    const directory = await mkdtemp(join(tmpdir(), 'corral-contract-'))
    const close = (): Promise<void> => rm(directory, { recursive: true })
    await writeFile(
      join(directory, 'agent.mjs'),
      `export const resumable = true
      export default (message, turn) => {
        const [{ text }] = message.parts
        if (text !== 'wait') return 'You said: ' + text
        return new Promise((_, reject) =>
          turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))
      }`,
    )
    const config = { id: 'f', name: 'File', endpoint: './agent.mjs', protocol: 'module' } as const
    return { agent: await loadModuleAgent(config, directory), close }
  },
  resumable: true,
  hears: true,
})

describeAgent('a message handler', {
  open: () => ({
    agent: fromMessageHandler({
      agentCard: () => ({ name: 'Handler', description: 'Answers', skills: [] }),
      handleMessage: async (message) => ({
        message: { ...userMessage(`You said: ${textOf(message.parts)}`), role: 'ROLE_AGENT' },
      }),
    }),
  }),
  resumable: false,
  hears: false,
})

describeAgent('a remote agent', {
  async open(): Promise<OpenAgent> {
    const far = defineAgent({ name: 'Far' }, speak)
    const server = await createServer({ agents: [far], timeouts: { shutdownMs: 0 }, logger: false })
    const { url, close } = await listen(server, { port: 0, host: '127.0.0.1' })
    const agent = new A2AAgent({
      ...{ id: 'near', name: 'Near', endpoint: url, timeoutSeconds: 10, maxRetries: 0 },
      taskHandling: 'PollUntilComplete',
    })
    return { agent, close, breakDown: close }
  },
  resumable: true,
  hears: true,
})

describeAgent('a model', {
  async open() {
    const service = await openModelServer(({ messages }) => {
      const text = String(messages.at(-1)?.content)
      return text === 'wait' ? { hang: ['You said: '] } : `You said: ${text}`
    })
    const { url: endpoint, close } = service
    const agent = new OpenAIAgent({
      ...{ id: 'model', name: 'Model', endpoint, apiKey: 'k', model: 'm' },
      ...{ timeoutSeconds: 10, maxRetries: 0 },
    })
    return { agent, close, breakDown: close }
  },
  resumable: true,
  hears: true,
})

describeAgent('a team', {
  open() {
    let broken = false
    const member = defineAgent(
      {
        name: 'Member',
        health: async () =>
          broken ? { healthy: false, reason: 'broken down' } : { healthy: true },
      },
      (message, turn) => {
        if (broken) throw new Error('broken down')
        return speak(message, turn)
      },
    )
    const agent = defineTeam({
      ...{ id: 'team', name: 'Team', description: 'One of one' },
      agents: { member },
      scheduler: { type: 'workflow', steps: [{ agentId: 'member', order: 1 }] },
    })
    return {
      agent,
      async breakDown() {
        broken = true
      },
    }
  },
  resumable: true,
  hears: true,
})
