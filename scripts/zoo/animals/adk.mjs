/** Google's Agent Development Kit: `toA2a` serves an agent, `RemoteA2AAgent` calls one. */
import {
  BaseLlm,
  InMemoryRunner,
  LlmAgent,
  LongRunningFunctionTool,
  RemoteA2AAgent,
  toA2a,
} from '@google/adk'
import express from 'express'
import { bearerOf, listenOn, sdk03Factory, summary, toAnswer } from '../host.mjs'

export const packages = ['@google/adk']

class ScriptedModel extends BaseLlm {
  constructor() {
    super({ model: 'scripted' })
  }

  async *generateContentAsync({ contents }) {
    const { parts } = contents.at(-1)
    const text = parts.map((part) => part.text ?? '').join('')
    if (text === 'wait') await new Promise(() => {})
    const answered = parts.find((part) => part.functionResponse)
    const said = answered ? JSON.stringify(answered.functionResponse.response) : text
    const part =
      text === 'question' ? { functionCall: { name: 'ask', args: {} } } : { text: `Echo: ${said}` }
    yield { content: { role: 'model', parts: [part] }, turnComplete: true }
  }
}

export async function serve({ token }) {
  const app = express()
  const { url, close } = await listenOn(app)
  const tool = new LongRunningFunctionTool({
    name: 'ask',
    description: 'Asks',
    execute: async () => undefined,
  })
  const agent = new LlmAgent({
    name: 'echo',
    description: 'Echoes',
    model: new ScriptedModel(),
    tools: [tool],
  })
  const { hostname: host, port } = new URL(url)
  await toA2a(agent, {
    app,
    host,
    port: Number(port),
    basePath: '',
    authentication: bearerOf(token),
  })
  return { url, close }
}

export async function connect({ url, token }) {
  const client = await sdk03Factory(token).createFromUrl(url)
  let answer = summary()
  const agent = new RemoteA2AAgent({
    name: 'corral',
    client,
    afterRequestCallbacks: [(_context, event) => answer.add(event.kind, toAnswer(event))],
  })
  const runner = new InMemoryRunner({ agent, appName: 'zoo' })
  const { id: sessionId } = await runner.sessionService.createSession({
    appName: 'zoo',
    userId: 'u',
  })
  const send = async (text) => {
    answer = summary()
    let said = ''
    const newMessage = { role: 'user', parts: [{ text }] }
    for await (const event of runner.runAsync({ userId: 'u', sessionId, newMessage })) {
      if (event.errorMessage) throw new Error(event.errorMessage)
      if (!event.partial)
        said += event.content?.parts?.map((part) => part.text ?? '').join('') ?? ''
    }
    return { ...answer.done(), text: said }
  }
  return { send, stream: send, reply: send }
}
