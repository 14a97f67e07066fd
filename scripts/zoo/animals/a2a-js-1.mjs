/** The official SDK for JavaScript, 1.x: both bindings of 1.0, wired as its README says. */
import {
  AgentCard,
  generateAgentCardSignature,
  SendMessageRequest,
  TaskState,
  taskStateToJSON,
  verifyAgentCardSignature,
} from 'a2a-js-sdk-1'
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from 'a2a-js-sdk-1/client'
import {
  AgentEvent,
  DefaultExecutionEventBusManager,
  DefaultRequestHandler,
  InMemoryTaskStore,
} from 'a2a-js-sdk-1/server'
import { agentCardHandler, jsonRpcHandler, restHandler } from 'a2a-js-sdk-1/server/express'
import express from 'express'
import { bearerFetch, bearerOf, listenOn, summary } from '../host.mjs'

export const packages = ['a2a-js-sdk-1']

export async function serve({ token, key }) {
  const app = express()
  const { url, close } = await listenOn(app)
  const card = AgentCard.fromJSON({
    name: 'SDK 1',
    description: 'Echoes',
    version: '1.0.0',
    supportedInterfaces: [
      { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true },
    defaultInputModes: ['text'],
    defaultOutputModes: ['text'],
    skills: [{ id: 'echo', name: 'Echo', description: 'Echoes', tags: ['echo'] }],
    ...(token && {
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    }),
  })
  const sign =
    key && generateAgentCardSignature(key.private, { alg: 'ES256', kid: key.kid, typ: 'JOSE' })
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executor(),
    new DefaultExecutionEventBusManager(),
    undefined,
    undefined,
    undefined,
    sign,
  )
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
      const text = userMessage.parts.map(({ content }) => content?.value ?? '').join('')
      const status = (state, message) => ({ state, message, timestamp: new Date().toISOString() })
      const update = (state, message) =>
        bus.publish(
          AgentEvent.statusUpdate({
            taskId,
            contextId,
            status: status(state, message),
            metadata: {},
          }),
        )
      const part = (value) => ({
        content: { $case: 'text', value },
        metadata: {},
        filename: '',
        mediaType: '',
      })
      const say = (value, append) => {
        const artifact = {
          artifactId: 'response',
          name: '',
          description: '',
          parts: [part(value)],
          metadata: {},
          extensions: [],
        }
        bus.publish(
          AgentEvent.artifactUpdate({
            taskId,
            contextId,
            artifact,
            append,
            lastChunk: append,
            metadata: {},
          }),
        )
      }
      if (!task) {
        const submitted = status(TaskState.TASK_STATE_SUBMITTED)
        bus.publish(
          AgentEvent.task({
            id: taskId,
            contextId,
            status: submitted,
            artifacts: [],
            history: [userMessage],
            metadata: {},
          }),
        )
      }
      update(TaskState.TASK_STATE_WORKING)
      if (text === 'question') {
        const role = 2 // ROLE_AGENT
        const message = {
          messageId: crypto.randomUUID(),
          role,
          taskId,
          contextId,
          parts: [part('Which colour?')],
          metadata: {},
          extensions: [],
          referenceTaskIds: [],
        }
        update(TaskState.TASK_STATE_INPUT_REQUIRED, message)
      } else if (text === 'wait') {
        await new Promise((resolve) => waiting.set(taskId, resolve))
        update(TaskState.TASK_STATE_CANCELED)
      } else {
        say('Echo: ', false)
        say(text, true)
        update(TaskState.TASK_STATE_COMPLETED)
      }
      bus.finished()
    },
    cancelTask: async (taskId) => waiting.get(taskId)?.(),
  }
}

export async function connect({ url, token, keys }) {
  const fetchImpl = bearerFetch(token)
  const card = await new DefaultAgentCardResolver({ fetchImpl }).resolve(url)
  if (keys) await verifyAgentCardSignature(async (kid) => keys.find((one) => one.kid === kid))(card)
  const transports = [
    new JsonRpcTransportFactory({ fetchImpl }),
    new RestTransportFactory({ fetchImpl }),
  ]
  const client = await new ClientFactory({ transports }).createFromAgentCard(card)
  const request = (text, ids, configuration) =>
    SendMessageRequest.fromJSON({
      message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...ids },
      ...(configuration && { configuration }),
    })
  return {
    send: async (text, ids) => answerOf(await client.sendMessage(request(text, ids))),
    async stream(text) {
      const answer = summary()
      for await (const { payload } of client.sendMessageStream(request(text)))
        answer.add(payload.$case, answerOf(payload.value))
      return answer.done()
    },
    async start(text) {
      const task = await client.sendMessage(request(text, {}, { returnImmediately: true }))
      return task.id
    },
    cancel: async (id) => answerOf(await client.cancelTask({ id, tenant: '', metadata: {} })).state,
  }
}

/** The SDK's tasks, messages and events alike. */
function answerOf({ id, taskId, contextId, status, artifacts, artifact, parts }) {
  const texts = [artifacts ?? artifact ?? [], { parts: parts ?? [] }].flat()
  return {
    taskId: id ?? taskId,
    contextId,
    state: status && taskStateToJSON(status.state).slice(11).toLowerCase().replace('_', '-'),
    text: texts.flatMap((one) => one.parts.map(({ content }) => content?.value ?? '')).join(''),
  }
}
