import { expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import type { Guards } from '../../../src/agents/guards/guard.ts'
import { OpenAIAgent } from '../../../src/agents/openai/agent.ts'
import { A2AAgent } from '../../../src/agents/remote/agent.ts'
import { runTeam } from '../../../src/app/run-team.ts'
import { usageOf } from '../../../src/protocol/extensions.ts'
import { textOf } from '../../../src/protocol/task.ts'
import { createServer, listen } from '../../../src/server/index.ts'
import { openModelServer } from '../../../src/testing/model-server.ts'

const key = 'sk-abcd1234efgh5678ijkl9012mnop3456'
const guards: Guards = { input: ['secrets'], output: ['email', { use: 'length', max: 40 }] }

async function modelOf(script: Parameters<typeof openModelServer>[0], maxHistory = 20) {
  const models = await openModelServer(script)
  onTestFinished(() => models.close())
  const endpoint = models.url
  const common = { id: 'model', name: 'Model', apiKey: 'k', model: 'm', endpoint, maxHistory }
  const agent = new OpenAIAgent({ ...common, guards })
  onTestFinished(() => agent.close())
  return { agent, models }
}

test('a model is sent what guards left, and its stream is held until they have looked', async () => {
  const { agent, models } = await modelOf([{ chunks: ['ask joe@', 'example.com'] }])
  const result = await runTeam(agent, `use ${key}`, { logger: false })
  expect(JSON.stringify(models.requests)).toContain('use [secret removed]')
  expect(JSON.stringify(models.requests)).not.toContain(key)
  expect(result.text).toBe('ask [email removed]')
  expect(JSON.stringify(result.events)).not.toContain('joe@')
})

test('a model does not hear in a later turn what was taken out of an earlier one', async () => {
  const { agent, models } = await modelOf(['one', 'two'])
  const server = await createServer({ agents: [agent], logger: false })
  onTestFinished(() => server.close())
  for (const text of [`use ${key}`, 'again']) {
    const message = {
      messageId: text,
      contextId: 'c',
      role: 'ROLE_USER',
      parts: [{ text }],
    } as const
    await server.dispatch()('SendMessage', { message }, {})
  }
  expect(models.requests).toHaveLength(2)
  const second = JSON.stringify(models.requests[1])
  expect(second).toContain('use [secret removed]')
  expect(second).not.toContain(key)
})

test('what a blocked answer of a model has cost is told with the failure', async () => {
  const { agent } = await modelOf(['x'.repeat(50)])
  const { state, task } = await runTeam(agent, 'x', { logger: false })
  expect(state).toBe('TASK_STATE_FAILED')
  expect(usageOf(task.status.message?.metadata)?.outputTokens).toBeGreaterThan(0)
})

test('a remote agent is sent what guards left, and its stream is held until they have looked', async () => {
  const asked: string[] = []
  const far = defineAgent({ name: 'far' }, async function* (message) {
    asked.push(textOf(message.parts))
    yield 'ask joe@'
    yield 'example.com'
  })
  const server = await createServer({ agents: [far], logger: false })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  onTestFinished(() => listening.close())
  const agent = new A2AAgent({ endpoint: listening.url, id: 'far', name: 'Far', guards })
  onTestFinished(() => agent.close())
  const result = await runTeam(agent, `use ${key}`, { logger: false })
  expect(asked).toEqual(['use [secret removed]'])
  expect(result.text).toBe('ask [email removed]')
  expect(JSON.stringify(result.events)).not.toContain('joe@')
})

test('guards that cannot be are refused where the agent is made', () => {
  const wrong = { output: ['secret'] } as unknown as Guards // what JavaScript lets pass
  const model = { id: 'a', name: 'A', apiKey: 'k', model: 'm', endpoint: 'http://127.0.0.1:1' }
  const reason = 'guards.output[0] names no guard: secret (did you mean secrets?)'
  expect(() => new OpenAIAgent({ ...model, guards: wrong })).toThrow(reason)
  expect(() => new A2AAgent({ endpoint: 'http://127.0.0.1:1', guards: wrong })).toThrow(reason)
  expect(() => defineAgent({ name: 'a', guards: wrong }, () => '')).toThrow(reason)
  const judged = { output: [{ member: 'judge' }] }
  expect(() => defineAgent({ name: 'a', guards: judged }, () => '')).toThrow('on the team or step')
})
