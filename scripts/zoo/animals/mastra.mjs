/** Mastra: its server on Hono serves an agent, `A2AAgent` of its core calls one. */

import { getRequestListener } from '@hono/node-server'
import { A2AAgent } from '@mastra/core/a2a'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { SimpleAuth } from '@mastra/core/server'
import { InMemoryStore } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import { MastraServer } from '@mastra/hono'
import { InMemoryTaskStore } from '@mastra/server/a2a/store'
import { Hono } from 'hono'
import { z } from 'zod'
import { bearerFetch, listenOn, scriptedModel } from '../host.mjs'

export const packages = ['@mastra/core', '@mastra/hono']

export async function serve({ token, key }) {
  const ask = createTool({
    id: 'ask',
    description: 'Asks',
    inputSchema: z.object({}),
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: z.any(),
    execute: async (_input, { agent }) =>
      agent?.resumeData === undefined
        ? agent?.suspend({ question: 'Which colour?' })
        : { said: agent.resumeData },
  })
  const echo = new Agent({
    id: 'echo',
    name: 'Echo',
    instructions: 'Echo',
    model: scriptedModel(),
    tools: { ask },
  })
  const signing = key && {
    privateKey: key.private,
    protectedHeader: { alg: 'ES256', kid: key.kid, typ: 'JOSE' },
  }
  const mastra = new Mastra({
    agents: { echo },
    storage: new InMemoryStore(),
    logger: false,
    server: {
      ...(token && { auth: new SimpleAuth({ tokens: { [token]: { id: 'visitor' } } }) }),
      ...(key && { a2a: { agentCardSigning: signing } }),
    },
  })
  const app = new Hono()
  await new MastraServer({ app, mastra, prefix: '/api', taskStore: new InMemoryTaskStore() }).init()
  const { url, close } = await listenOn(getRequestListener(app.fetch))
  return { url: `${url}/api/.well-known/echo/agent-card.json`, close }
}

export async function connect({ url, token }) {
  const agent = new A2AAgent({
    url: `${url}/.well-known/agent-card.json`,
    fetch: bearerFetch(token),
  })
  const answer = ({ text, finishReason, runId, suspendPayload }) => ({
    text,
    runId,
    state: finishReason === 'suspended' || suspendPayload ? 'input-required' : 'completed',
  })
  let last
  return {
    async send(text) {
      last = await agent.generate(text)
      return answer(last)
    },
    async stream(text) {
      const { fullStream } = await agent.stream(text)
      const found = { text: '', events: 0 }
      for await (const { payload } of fullStream) {
        found.text += payload?.text ?? ''
        found.events++
      }
      return found
    },
    reply: async (text) => answer(await agent.resumeGenerate(text, { runId: last.runId })),
  }
}
