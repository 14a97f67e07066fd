import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Agent } from '../../../src/agents/agent.ts'
import { loadConfig } from '../../../src/app/config/load.ts'
import { createRoster } from '../../../src/app/roster.ts'
import { A2AClient } from '../../../src/client/client.ts'
import { traceExtension } from '../../../src/protocol/extensions.ts'
import type { JsonObject } from '../../../src/protocol/types.ts'
import { createServer } from '../../../src/server/server.ts'
import type { ModelAnswer, ModelRequest } from '../../../src/testing/index.ts'
import { cookbook, loadTeam, openService, withoutChance } from './recipe.ts'

test('a guest is known by the next message of the same conversation, and by no other', async () => {
  const service = await openService(host)
  const program = await visit(await loadTeam('memory-context'))
  const asked = service.requests.map(({ messages }) => messages.map(({ content }) => content))
  const file = await visit(await teamOfFile())
  expect(file).toEqual(program)

  expect(program.answers).toEqual(['Welcome!', 'You are Ada.', 'You are unknown.'])
  const prompt = 'You welcome guests.'
  expect(asked.slice(2)).toEqual([
    [prompt, 'My name is Ada', 'Welcome!', 'Guest: Ada. Who am I?'],
    [prompt, 'Guest: unknown. Who am I?'],
  ])
})

/** Remembers a name when it hears one, and says it when it is asked. */
function host({ messages }: ModelRequest): ModelAnswer {
  const last = messages.at(-1)
  const [, known, question] = /Guest: (\w+)\. (.*)/.exec(String(last?.content)) ?? []
  if (last?.role === 'tool') return 'Welcome!'
  if (question === 'Who am I?') return `You are ${known}.`
  return { tools: [{ name: 'remember', arguments: { name: 'Ada' } }] }
}

/** Two messages of one conversation, then one of another. */
async function visit(agent: Agent) {
  const server = await createServer({ agents: [agent] })
  onTestFinished(() => server.close())
  const client = new A2AClient({ dispatch: server.dispatch(), extensions: [traceExtension] })
  const answers: string[] = []
  const traces: JsonObject[] = []
  const say = async (text: string, contextId: string): Promise<void> => {
    answers.push(await client.run(text, { contextId }))
  }
  await say('My name is Ada', 'ada')
  await say('Who am I?', 'ada')
  await say('Who am I?', 'somebody')
  for (const { id } of (await client.listTasks({})).tasks) {
    const { metadata } = await client.getTask(id)
    traces.push(...withoutChance(metadata?.[traceExtension] as JsonObject[])) // its shape
  }
  return { answers, traces }
}

async function teamOfFile(): Promise<Agent> {
  const file = join(cookbook, 'memory-context/corral.toml')
  const config = await loadConfig(file, process.env)
  const { agents, close } = await createRoster(config, {
    directory: dirname(file),
    environment: process.env,
  })
  onTestFinished(close)
  const [team] = agents
  if (!team) throw new Error('no team')
  return team
}
