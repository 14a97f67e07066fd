import { textOf } from 'corral'
import { A2AAgent, defineAgent, fromRunnable, OpenAIAgent } from 'corral/agents'
import { serve } from 'corral/server'
import { defineTeam } from 'corral/team'

const { PORT = '3000', OPENAI_BASE_URL, OPENAI_API_KEY } = process.env

// 1. A function: what it returns is the answer.
const shout = defineAgent({ name: 'Shout' }, ({ parts }) => textOf(parts).toUpperCase())

// 2. An async generator: what it yields reaches the caller at once.
const count = defineAgent({ name: 'Count' }, async function* ({ parts }) {
  for (const [at, word] of textOf(parts).split(' ').entries()) yield `${at + 1} ${word} `
})

// 3. An object with run(text), as other frameworks have it.
const reverse = fromRunnable({ run: (text) => [...text].reverse().join('') }, { name: 'Reverse' })

// 4. A model behind an OpenAI-compatible service; it is not called before somebody asks it.
const model = new OpenAIAgent({
  id: 'model',
  name: 'Model',
  endpoint: OPENAI_BASE_URL ?? 'https://api.openai.com/v1',
  apiKey: OPENAI_API_KEY ?? 'none',
  model: 'gpt-4.1-mini',
})

// 5. An agent elsewhere that speaks A2A; here it is one of this very server.
const remote = new A2AAgent({ id: 'remote', endpoint: `http://127.0.0.1:${PORT}/agents/shout` })

// 6. A team of any of them.
const chorus = defineTeam({
  id: 'chorus',
  name: 'Chorus',
  agents: { reverse, remote },
  scheduler: { type: 'workflow', steps: [{ agentId: 'reverse' }, { agentId: 'remote' }] },
})

const agents = [shout, count, reverse, model, remote, chorus]
export const running = await serve(agents, { port: Number(PORT) })
console.log(`Six agents are served at ${running.url}/agents`)
