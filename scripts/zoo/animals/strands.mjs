/** Strands Agents: `A2AExpressServer` serves an agent, `A2AAgent` calls one. */
import { Agent, Model } from '@strands-agents/sdk'
import { A2AAgent } from '@strands-agents/sdk/a2a'
import { A2AExpressServer } from '@strands-agents/sdk/a2a/express'
import express from 'express'
import { bearerOf, listenOn, sdk03Factory, summary, toAnswer } from '../host.mjs'

export const packages = ['@strands-agents/sdk']

class ScriptedModel extends Model {
  updateConfig() {}

  getConfig() {
    return { modelId: 'scripted' }
  }

  async *stream(messages) {
    const text = messages
      .at(-1)
      .content.map((block) => block.text ?? '')
      .join('')
    if (text === 'wait') await new Promise(() => {})
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    yield { type: 'modelContentBlockStartEvent' }
    for (const words of ['Echo: ', text])
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text: words } }
    yield { type: 'modelContentBlockStopEvent' }
    yield { type: 'modelMessageStopEvent', stopReason: 'endTurn' }
  }
}

export async function serve({ token }) {
  const app = express()
  const { url, close } = await listenOn(app)
  const server = new A2AExpressServer({
    name: 'Strands',
    description: 'Echoes',
    httpUrl: url,
    agentFactory: () => new Agent({ model: new ScriptedModel(), printer: false }),
    userBuilder: bearerOf(token),
  })
  app.use(server.createMiddleware())
  return { url, close }
}

export async function connect({ url, token }) {
  const agent = new A2AAgent({ url, clientFactory: sdk03Factory(token) })
  const stream = async (text) => {
    const answer = summary()
    for await (const { type, event } of agent.stream(text))
      if (type === 'a2aStreamUpdateEvent') answer.add(event.kind, toAnswer(event))
    return answer.done()
  }
  const send = async (text) => {
    const { lastMessage, stopReason } = await agent.invoke(text)
    const words = lastMessage.content.map((block) => block.text ?? '').join('')
    return { text: words, state: stopReason === 'endTurn' ? 'completed' : stopReason }
  }
  return { send, stream }
}
