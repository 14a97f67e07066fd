/** What several animals need: a port, a bearer token on either side, and the client of the SDK for 0.3. */
import { createServer } from 'node:http'
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'

/** Listens on a free port of this machine. */
export async function listenOn(listener) {
  const server = createServer(listener)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${server.address().port}`, close }
}

/** The hook by which the SDKs learn of a caller: throws for any other than that of the token, if there is one. */
export function bearerOf(token) {
  return async ({ headers }) => {
    if (token && headers.authorization !== `Bearer ${token}`)
      throw new Error('The token is missing or wrong')
    return { isAuthenticated: Boolean(token), userName: token ? 'visitor' : '' }
  }
}

/** `fetch` with a token, if there is one. */
export function bearerFetch(token) {
  if (!token) return fetch
  return (input, init = {}) => {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${token}`)
    return fetch(input, { ...init, headers })
  }
}

/** Adds up the events of a stream. */
export function summary() {
  const answer = { events: 0, text: '', state: undefined, taskId: undefined, contextId: undefined }
  return {
    add(kind, { text, state, taskId, contextId }) {
      answer.events++
      if (kind.startsWith('artifact') || kind === 'message') answer.text += text
      answer.state = state ?? answer.state
      answer.taskId ??= taskId
      answer.contextId ??= contextId
    },
    done: () => answer,
  }
}

/** The client of the SDK for 0.3, which others use too. */
export async function connectSdk03({ url, token }) {
  const client = await sdk03Factory(token).createFromUrl(url)
  const request = (text, ids, configuration) => ({
    message: {
      kind: 'message',
      messageId: crypto.randomUUID(),
      role: 'user',
      parts: [{ kind: 'text', text }],
      ...ids,
    },
    ...(configuration && { configuration }),
  })
  return {
    send: async (text, ids) => toAnswer(await client.sendMessage(request(text, ids))),
    async stream(text) {
      const answer = summary()
      for await (const event of client.sendMessageStream(request(text)))
        answer.add(event.kind, toAnswer(event))
      return answer.done()
    },
    start: async (text) => (await client.sendMessage(request(text, {}, { blocking: false }))).id,
    cancel: async (id) => (await client.cancelTask({ id })).status.state,
  }
}

export function sdk03Factory(token) {
  const fetchImpl = bearerFetch(token)
  const transports = [
    new JsonRpcTransportFactory({ fetchImpl }),
    new RestTransportFactory({ fetchImpl }),
  ]
  return new ClientFactory({
    transports,
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })
}

/** A task, message or event of 0.3. */
export function toAnswer({ id, taskId, contextId, status, artifacts, artifact, parts }) {
  const texts = [artifacts ?? artifact ?? [], { parts: parts ?? [] }].flat()
  return {
    taskId: id ?? taskId,
    contextId,
    state: status?.state,
    text: texts.flatMap((one) => one.parts.map((part) => part.text ?? '')).join(''),
  }
}

/** A model of the AI SDK without a service: echoes in two chunks, calls the tool `ask` on "question", waits on "wait". */
export function scriptedModel() {
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
  const plan = async ({ prompt, abortSignal }) => {
    const { role, content } = prompt.at(-1)
    const said =
      role === 'tool'
        ? JSON.stringify(content[0].output)
        : content.map((part) => part.text ?? '').join('')
    if (said === 'wait')
      await new Promise((_, reject) => {
        abortSignal?.addEventListener('abort', () => reject(abortSignal.reason))
      })
    return said
  }
  const call = { toolCallId: 'call', toolName: 'ask', input: '{}' }
  return {
    specificationVersion: 'v2',
    provider: 'zoo',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate(options) {
      const said = await plan(options)
      const isAsked = said === 'question'
      const content = isAsked
        ? { type: 'tool-call', ...call }
        : { type: 'text', text: `Echo: ${said}` }
      return {
        content: [content],
        finishReason: isAsked ? 'tool-calls' : 'stop',
        usage,
        warnings: [],
      }
    },
    async doStream(options) {
      const said = await plan(options)
      const isAsked = said === 'question'
      const chunks = isAsked
        ? [{ type: 'tool-call', ...call }]
        : [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: 'Echo: ' },
            { type: 'text-delta', id: '1', delta: said },
            { type: 'text-end', id: '1' },
          ]
      const finish = { type: 'finish', finishReason: isAsked ? 'tool-calls' : 'stop', usage }
      return {
        stream: ReadableStream.from([{ type: 'stream-start', warnings: [] }, ...chunks, finish]),
      }
    },
  }
}
