/** An agent of the official SDK that frames pictures. Run: PORT=4100 npx tsx examples/cookbook/remote-a2a-files/remote.ts */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AgentCard, type Part, Role } from '@a2a-js/sdk'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
// @ts-expect-error: express brings no types of its own
import express from 'express'

/** Answers with every file it is given, framed. */
const framer: AgentExecutor = {
  async execute({ contextId, userMessage }, bus) {
    const files = userMessage.parts.filter(({ content }) => content?.$case === 'raw')
    const said: Part = {
      content: { $case: 'text', value: `Framed ${files.length}` },
      metadata: undefined,
      filename: '',
      mediaType: 'text/plain',
    }
    bus.publish(
      AgentEvent.message({
        messageId: crypto.randomUUID(),
        role: Role.ROLE_AGENT,
        parts: [said, ...files.map(framed)],
        taskId: '',
        contextId,
        extensions: [],
        metadata: {},
        referenceTaskIds: [],
      }),
    )
  },
  async cancelTask() {},
}

function framed(file: Part): Part {
  const bytes = file.content?.$case === 'raw' ? file.content.value : Buffer.of()
  const value = Buffer.concat([Buffer.from('['), bytes, Buffer.from(']')])
  return { ...file, content: { $case: 'raw', value }, filename: `framed-${file.filename}` }
}

/** Serves it at a port, any free one if none is named. */
export async function openFramer(port = 0): Promise<{ url: string; close: () => void }> {
  const app = express()
  const server = createServer(app).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: own } = server.address() as AddressInfo // it listens on a port
  const url = `http://127.0.0.1:${own}`
  const requestHandler = new DefaultRequestHandler(cardOf(url), new InMemoryTaskStore(), framer)
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  return { url, close }
}

function cardOf(url: string): AgentCard {
  return AgentCard.fromJSON({
    name: 'Framer',
    description: 'Frames pictures',
    version: '1.0.0',
    supportedInterfaces: [
      { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: {},
    defaultInputModes: ['image/png'],
    defaultOutputModes: ['image/png'],
    skills: [{ id: 'frame', name: 'Framing', description: 'Frames a picture', tags: [] }],
  })
}

const { PORT } = process.env
if (PORT && process.argv[1] === import.meta.filename) await openFramer(Number(PORT))
