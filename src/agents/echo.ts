import { textOf } from '../protocol/task.ts'
import type { Agent } from './agent.ts'
import { defineAgent } from './function.ts'

/** Makes an agent that answers `Echo: <text>`; for trying things out. */
export function createEchoAgent(): Agent {
  return defineAgent(
    {
      name: 'Echo Agent',
      description: 'Answers with what it was told',
      abilities: ['echo'],
      resumable: true,
    },
    (message) => `Echo: ${textOf(message.parts)}`,
  )
}
