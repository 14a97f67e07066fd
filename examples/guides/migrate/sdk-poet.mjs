/** The poet of poet.mjs with @a2a-js/sdk 1.3: what a program looks like before it moves. */

// #region server
import { AgentCard } from '@a2a-js/sdk'
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'
import { executor } from './sdk-executor.mjs'

const port = Number(process.env.PORT ?? 3000)
const card = AgentCard.fromJSON({
  name: 'Poet',
  description: 'Writes short verse',
  version: '1.0.0',
  supportedInterfaces: [
    { url: `http://127.0.0.1:${port}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'poetry', name: 'poetry', description: 'poetry', tags: ['poetry'] }],
})
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
const app = express()
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
app.listen(port, '127.0.0.1', () => console.log(`The poet answers at http://127.0.0.1:${port}`))
// #endregion
