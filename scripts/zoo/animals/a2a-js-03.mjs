/** The official SDK for JavaScript, 0.3.x: both bindings of 0.3. */
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express'
import express from 'express'
import { bearerOf, connectSdk03, listenOn } from '../host.mjs'

export const packages = ['@a2a-js/sdk']
export const connect = connectSdk03

export async function serve({ token }) {
  const app = express()
  const { url, close } = await listenOn(app)
  const card = {
    name: 'SDK 0.3',
    description: 'Echoes',
    protocolVersion: '0.3.0',
    version: '1.0.0',
    url: `${url}/rpc`,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url: `${url}/rest`, transport: 'HTTP+JSON' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text'],
    defaultOutputModes: ['text'],
    skills: [{ id: 'echo', name: 'Echo', description: 'Echoes', tags: ['echo'] }],
    ...(token && {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      security: [{ bearer: [] }],
    }),
  }
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor())
  const userBuilder = bearerOf(token)
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }))
  app.use('/rest', restHandler({ requestHandler, userBuilder }))
  return { url, close }
}

function executor() {
  const waiting = new Map()
  return {
    async execute({ taskId, contextId, userMessage, task }, bus) {
      const text = userMessage.parts.map((part) => part.text ?? '').join('')
      const status = (state, message) => ({ state, message, timestamp: new Date().toISOString() })
      const update = (state, final = false, message = undefined) =>
        bus.publish({
          kind: 'status-update',
          taskId,
          contextId,
          status: status(state, message),
          final,
        })
      const say = (words, append) => {
        const artifact = { artifactId: 'response', parts: [{ kind: 'text', text: words }] }
        bus.publish({
          kind: 'artifact-update',
          taskId,
          contextId,
          artifact,
          append,
          lastChunk: append,
        })
      }
      if (!task)
        bus.publish({
          kind: 'task',
          id: taskId,
          contextId,
          status: status('submitted'),
          history: [userMessage],
        })
      update('working')
      if (text === 'question') {
        const parts = [{ kind: 'text', text: 'Which colour?' }]
        update('input-required', true, {
          kind: 'message',
          messageId: crypto.randomUUID(),
          role: 'agent',
          taskId,
          contextId,
          parts,
        })
      } else if (text === 'wait') {
        await new Promise((resolve) => waiting.set(taskId, resolve))
        update('canceled', true)
      } else {
        say('Echo: ', false)
        say(text, true)
        update('completed', true)
      }
      bus.finished()
    },
    cancelTask: async (taskId) => waiting.get(taskId)?.(),
  }
}
