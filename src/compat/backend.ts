import type { Agent } from '../agents/agent.ts'
import { type AgentFunction, defineAgent, fromRunnable, type Runnable } from '../agents/function.ts'
import { fromMessageHandler, type MessageHandler } from './message-handler.ts'
import type { RequestHandler } from './request-handler.ts'
import { fromRequestHandler } from './request-relay.ts'

/**
 * What an `A2AServer` can serve: a message handler, a request handler, an agent, a function, or an object with
 * `run(text)`.
 */
export type Backend = MessageHandler | RequestHandler | Agent | AgentFunction | Runnable

/**
 * Whatever answers messages, as an agent: told apart by its methods.
 * @throws Error for an object that has none of them.
 */
export function toAgent(backend: Backend, baseUrl: () => string): Agent {
  if (typeof backend === 'function') return defineAgent({ name: backend.name || 'Agent' }, backend)
  if ('handleMessage' in backend) return fromMessageHandler(backend, baseUrl)
  if ('onMessageSend' in backend) return fromRequestHandler(backend)
  if ('process' in backend) return backend
  if ('run' in backend) return fromRunnable(backend)
  throw new Error('What is served needs handleMessage, onMessageSend, process or run')
}
