import { mkdtemp, rm } from 'node:fs/promises'
import type { LookupFunction } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent } from 'undici'
import { createEchoAgent } from '../../../src/agents/function.ts'
import { OpenAIAgent } from '../../../src/agents/openai/agent.ts'
import type { HttpSend } from '../../../src/bindings/http.ts'
import { A2AClient } from '../../../src/client/client.ts'
import type { ClientConfig } from '../../../src/client/config.ts'
import { createHttp } from '../../../src/client/node.ts'
import { createConsole } from '../../../src/console/index.ts'
import { createEvaluator } from '../../../src/eval/serve.ts'
import {
  checkedConnector,
  createGuard,
  createNamedRules,
  type Rules,
} from '../../../src/network/guard.ts'
import { userMessage } from '../../../src/protocol/task.ts'
import type { AgentCard } from '../../../src/protocol/types.ts'
import { bearer, createServer } from '../../../src/server/index.ts'
import { silent } from '../../../src/shared/log.ts'
import { createInstantClock, openModelServer } from '../../../src/testing/index.ts'
import { createDeliver } from '../../../src/webhooks/deliver.ts'
import { jsonRpc, testCard } from '../../client/cards.ts'
import { createTurn, runTurn } from '../../fixtures/turn.ts'

/** A place where a stranger names a URL. */
export interface Entrance {
  readonly name: string
  /** Whether it calls names itself as soon as it may, so that only what is refused can be tried. */
  readonly dials?: true
  /** Whether its operator can allow hosts and ranges. */
  readonly allows?: true
  open(lookup: LookupFunction, allow?: readonly string[]): Promise<OpenEntrance>
}

/** One that is in use. */
export interface OpenEntrance {
  /** Whether the URL got past every check; nothing outside this process is called. */
  passes(url: string): Promise<boolean>
  close(): Promise<void>
}

/** All of them. */
export const entrances: readonly Entrance[] = [
  { name: 'a webhook', open: openWebhook, allows: true },
  { name: 'an interface of a card', open: (lookup) => openClient(lookup, withInterface) },
  { name: 'an authorization server of a card', open: (lookup) => openClient(lookup, withOAuth) },
  { name: 'metadata of an authorization server', open: (lookup) => openClient(lookup, withOpenId) },
  { name: 'an image for a model', open: openModel, allows: true },
  { name: 'a participant of an evaluation', open: openEvaluator, dials: true },
  { name: 'an agent for the console', open: openConsole, dials: true },
]

/** The same rules, which remember what they let through and let nothing be dialled. */
function watched(rules: Rules): { readonly rules: Rules; let: number } {
  const watch = {
    let: 0,
    rules: {
      ...rules,
      refuseAddresses(found: Parameters<Rules['refuseAddresses']>[0]) {
        const reason = rules.refuseAddresses(found)
        if (reason === undefined) watch.let++
        return reason ?? 'may be reached, but not by a test'
      },
    },
  }
  return watch
}

async function openWebhook(
  lookup: LookupFunction,
  allow: readonly string[] = [],
): Promise<OpenEntrance> {
  const guard = createGuard({ allowHttp: true, lookup, allow })
  const watch = watched(guard.rules)
  const connect = checkedConnector({ rules: watch.rules, refusal: (reason) => new Error(reason) })
  const dispatcher = new Agent({ connect })
  const deliver = createDeliver({ guard: { ...guard, dispatcher }, clock: createInstantClock() })
  const payload = { contentType: 'application/json', body: '{}' }
  return {
    async passes(url) {
      const before = watch.let
      const record = {
        taskId: 't',
        id: 'h',
        config: { url },
        dialect: '1.0',
        cursor: 0,
        agent: 'a',
      }
      await deliver(
        { record: { ...record, dialect: '1.0' }, seq: 1, payload },
        new AbortController().signal,
      )
      return watch.let > before
    },
    close: () => dispatcher.close(),
  }
}

type CardWith = (url: string) => Partial<AgentCard>

const withInterface: CardWith = (url) => ({ supportedInterfaces: [jsonRpc(url)] })

const withOAuth: CardWith = (url) => ({
  ...withInterface('http://agent.example.com/'),
  securitySchemes: {
    o: {
      oauth2SecurityScheme: {
        flows: { deviceCode: { deviceAuthorizationUrl: url, tokenUrl: url, scopes: {} } },
      },
    },
  },
  securityRequirements: [{ schemes: { o: { list: [] } } }],
})

const withOpenId: CardWith = (url) => ({
  ...withOAuth(url),
  securitySchemes: { o: { openIdConnectSecurityScheme: { openIdConnectUrl: url } } },
})

/** A client of an agent on the public internet, whose card names the URL. */
async function openClient(lookup: LookupFunction, cardWith: CardWith): Promise<OpenEntrance> {
  const serverUrl = 'http://agent.example.com/'
  const rules = createNamedRules([serverUrl], { lookup })
  // It was reached there for its card.
  const addresses = ['93.184.216.34']
  rules.refuseAddresses({ host: 'agent.example.com', addresses, named: true })
  const watch = watched(rules)
  const http = createHttp({ rules: watch.rules })
  const credentials: ClientConfig['credentials'] = {
    o: { clientId: 'me', allowInsecure: true, prompt: () => {} },
  }
  return {
    async passes(url) {
      const before = watch.let
      const send: HttpSend = async (request) => {
        if (!request.url.endsWith('.json') || !request.url.startsWith(serverUrl))
          return http.send(request)
        const text = JSON.stringify(testCard(cardWith(url)))
        return { status: 200, headers: {}, text: async () => text, async *chunks() {} }
      }
      const client = new A2AClient({
        serverUrl,
        send,
        credentials,
        retry: { maxRetries: 0 },
        log: silent,
      })
      const error = await client.sendMessage('hi').catch((thrown: unknown) => thrown)
      if (!(error instanceof Error)) throw new Error(`${url} was answered`)
      return watch.let > before
    },
    close: http.close,
  }
}

async function openModel(
  lookup: LookupFunction,
  allow: readonly string[] = [],
): Promise<OpenEntrance> {
  const server = await openModelServer(['seen'])
  const agent = new OpenAIAgent({
    id: 'eye',
    name: 'Eye',
    endpoint: server.url,
    apiKey: 'sk',
    model: 'm',
    timeoutSeconds: 10,
    maxRetries: 0,
    files: { lookup, allow },
  })
  return {
    async passes(url) {
      const before = server.requests.length
      const turn = createTurn(userMessage([{ url, mediaType: 'image/png' }]))
      const failed = await runTurn(agent, turn).then(
        () => false,
        () => true,
      )
      if (failed === server.requests.length > before) throw new Error(`${url} was asked for`)
      return !failed
    },
    close: () => Promise.all([agent.close(), server.close()]).then(() => {}),
  }
}

async function openEvaluator(lookup: LookupFunction): Promise<OpenEntrance> {
  const archive = await mkdtemp(join(tmpdir(), 'eval-corpus-'))
  const evaluator = createEvaluator({ archive, guard: { lookup }, clock: createInstantClock() })
  return {
    async passes(url) {
      const turn = createTurn(userMessage([{ data: { participants: { agent: url } } }]))
      const error = await runTurn(evaluator, turn).catch((thrown: unknown) => thrown)
      if (!(error instanceof Error)) throw new Error(`${url} was evaluated`)
      return !/\bmust\b|Cannot connect to \S+$/.test(error.message)
    },
    close: () => rm(archive, { recursive: true }),
  }
}

/** An operator's console, on a server that others reach. */
async function openConsole(lookup: LookupFunction): Promise<OpenEntrance> {
  const headers = { authorization: 'Bearer op' }
  const tokens = { op: { userId: 'op', scopes: ['operator'] } }
  const server = await createServer({
    agents: [createEchoAgent()],
    auth: { authenticators: [bearer({ tokens })] },
    console: createConsole({ lookup }),
    logger: false,
  })
  return {
    async passes(url) {
      const body = JSON.stringify({ kind: 'card', url })
      const path = '/console/api/relay'
      const reply = await server.handle({ method: 'POST', path, query: '', headers, body })
      const { message } = JSON.parse(String(reply.body)).error
      return !/\bmust\b|Cannot connect to \S+$/.test(message)
    },
    close: () => server.close(),
  }
}
