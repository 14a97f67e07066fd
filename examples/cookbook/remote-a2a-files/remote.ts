/** An agent of the official SDK that frames pictures. Run: PORT=4100 npx tsx examples/cookbook/remote-a2a-files/remote.ts */
import { createServer, type Server } from 'node:http'
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

/** Serves it at a port; `url` is how others reach that. */
export function serveFramer(port: number, url: string): Server {
  const card = AgentCard.fromJSON({
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
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), framer)
  const app = express()
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  return createServer(app).listen(port, '127.0.0.1')
}

const { PORT } = process.env
if (PORT) serveFramer(Number(PORT), `http://127.0.0.1:${PORT}`)
