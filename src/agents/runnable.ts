import { textOf } from '../protocol/task.ts'
import type { Agent } from './agent.ts'
import { type AgentDescription, defineAgent } from './function.ts'

/** Anything with `run(text)`, as agent frameworks have it (003's agents). */
export interface Runnable {
  run(text: string): string | Promise<string>
}

/** Makes an agent of an object with `run(text)`. */
export function fromRunnable(
  runnable: Runnable,
  description: AgentDescription = { name: 'A2A Agent', description: 'A2A Protocol Agent' },
): Agent {
  return defineAgent(description, async (message) => runnable.run(textOf(message.parts)))
}
