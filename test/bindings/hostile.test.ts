import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ranch } from '../../src/bindings/dialects/ranch.ts'
import { v03 } from '../../src/bindings/dialects/v03.ts'
import { rest03 } from '../../src/bindings/dialects/v03-rest.ts'
import { A2AClient, JsonRpcTransport, RestTransport } from '../../src/client/index.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { type OperationName, operations, type RequestOf } from '../../src/protocol/operations.ts'
import type { AgentCard, StreamResponse } from '../../src/protocol/types.ts'
import { card03 } from './card03.ts'
import {
  fullCard,
  fullEvents,
  fullResults,
  membersOf,
  type Path,
  requests,
  withAt,
  wrongFor,
} from './full.ts'

/** What the server at hand answers with, whatever it is asked. */
let reply = { type: 'application/json', body: '' }
const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    response.writeHead(200, { 'content-type': reply.type })
    response.end(reply.body)
  })
})
let url = ''
beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

/** A binding in a version: how a peer of it writes, and our client for it. */
interface PeerWire {
  readonly name: string
  client(): A2AClient
  result(name: OperationName, result: unknown): unknown
  event(event: StreamResponse): unknown
  envelope(body: unknown): unknown
  /** Whether its members are those of the canonical model, so that a fault has the path that the peer wrote. */
  readonly isCanonical?: boolean
}

const cardOf03 = (result: unknown): unknown => card03(result as AgentCard)
/** Without an id, since one answer is given to many requests. */
const inRpc = (result: unknown): object => ({ jsonrpc: '2.0', result })
const bare = (body: unknown): unknown => body

const wires: readonly PeerWire[] = [
  {
    name: 'JSONRPC 1.0',
    client: () => new A2AClient(new JsonRpcTransport(url, { dialect: '1.0' })),
    result: (_, result) => result,
    event: bare,
    envelope: inRpc,
    isCanonical: true,
  },
  {
    name: 'JSONRPC 0.3',
    client: () => new A2AClient(new JsonRpcTransport(url, { dialect: '0.3' })),
    result: (name, result) =>
      operations[name].gives === 'card'
        ? cardOf03(result)
        : v03.methods.get(operations[name].slashNames[0])?.encode?.(result, { request: {} }),
    event: (event) => v03.encodeEvent(event, 'SubscribeToTask'),
    envelope: inRpc,
  },
  {
    name: 'HTTP+JSON 1.0',
    client: () => new A2AClient(new RestTransport(url, { dialect: '1.0' })),
    result: (_, result) => result,
    event: bare,
    envelope: bare,
    isCanonical: true,
  },
  {
    name: 'HTTP+JSON 0.3',
    client: () => new A2AClient(new RestTransport(url, { dialect: '0.3' })),
    result: (name, result) =>
      operations[name].gives === 'card' ? cardOf03(result) : rest03.encodeResult(name, result),
    event: (event) => rest03.encodeEvent(event, 'SubscribeToTask'),
    envelope: bare,
  },
  {
    name: 'RANCH',
    client: () => new A2AClient(new JsonRpcTransport(url, { dialect: 'ranch' })),
    result: (name, result) => {
      const method = [...ranch.methods.values()].find(({ operation }) => operation === name)
      return method?.encode ? method.encode(result, { request: {} }) : result
    },
    event: (event) => ranch.encodeEvent(event, 'SubscribeToTask'),
    envelope: inRpc,
  },
]

/** The answers that a wire has, with its own words. */
function resultsOf({ name: wire }: PeerWire): typeof fullResults {
  if (wire === 'JSONRPC 0.3') return fullResults.filter(([name]) => name !== 'ListTasks')
  if (wire !== 'RANCH') return fullResults
  // A task that has ended otherwise cannot be cancelled, which RANCH tells by another answer.
  const canceled = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_CANCELED' } }
  return [
    ...fullResults.filter(([name]) => name === 'SendMessage' || name === 'GetTask'),
    ['CancelTask', canceled],
  ]
}

/** A wrong value in one place of an answer. */
interface Variant {
  readonly path: Path
  readonly wrong: unknown
  readonly body: unknown
}

/** Members that hold any JSON: nothing is wrong inside, and in `data` nothing at all. */
const free: ReadonlySet<unknown> = new Set(['metadata', 'params', 'header', 'data'])
/** Members that tell shapes of 0.3 apart and reach nobody. */
const tags: ReadonlySet<unknown> = new Set(['kind', 'final', 'type'])

function variantsOf(valid: unknown, isList = false): readonly Variant[] {
  const members = [...membersOf(valid, (path) => free.has(path.at(-1)))]
  return members.flatMap(({ path, value }) =>
    wrongFor(value)
      .filter((wrong) => !isRight(path, wrong) && !(isList && path.length === 0 && isEmpty(wrong)))
      .map((wrong) => ({ path, wrong, body: withAt(valid, path, wrong) })),
  )
}

/** Where another type is not wrong, or where all that is wrong is left out. */
function isRight(path: Path, wrong: unknown): boolean {
  const last = path.at(-1)
  const parent = path.at(-2)
  if (last === 'data' || tags.has(last)) return true
  // The role in RANCH's result of a task: its message becomes an artifact, which has none.
  if (parent === 'result' && last === 'role') return true
  // A security scheme that is none is left out; the card is of use without it.
  if (parent === 'securitySchemes') return true
  // The name of a scheme stands for the requirement of it; its scopes are a bare list in 0.3, an object in 1.0.
  if (parent === 'security' || parent === 'securityRequirements') return typeof wrong === 'string'
  const isScopes = parent === 'schemes' || path.at(-3) === 'security'
  return isScopes && isEmpty(wrong)
}

/** 0.3 lists the webhooks of a task bare, and protocol buffers leave an empty list out. */
function isEmpty(wrong: unknown): boolean {
  return typeof wrong === 'object'
}

/** What members of other dialects are called in the canonical model, or what they are told with. */
const canonical: Readonly<Record<string, string>> = {
  content: 'parts',
  file: 'parts',
  bytes: 'raw',
  uri: 'url',
  fileWithBytes: 'raw',
  fileWithUri: 'url',
  mimeType: 'mediaType',
  security: 'securityRequirements',
  additionalInterfaces: 'supportedInterfaces',
  preferredTransport: 'supportedInterfaces',
  transport: 'protocolBinding',
  protocolVersion: 'supportedInterfaces',
  supportsAuthenticatedExtendedCard: 'extendedAgentCard',
  in: 'location',
  pushNotificationConfig: 'url',
  task_id: 'taskId',
  artifact_id: 'artifactId',
  last_chunk: 'lastChunk',
  updated_at: 'timestamp',
  reason: 'message',
}

/** Whether a fault is told where it is: at the member, or at the nearest one around it that 1.0 has. */
function isNamed(error: A2AError, path: Path, isExact: boolean): boolean {
  const field = error.details.violations?.[0]?.field ?? ''
  if (path.length === 0) return true
  if (field === '' || !error.message.includes(field)) return false
  if (isExact) return field.startsWith(dotted(path))
  const names = path.filter((step) => typeof step === 'string')
  return (
    names.length === 0 ||
    names.some((name) => field.includes(canonical[name] ?? name)) ||
    elsewhere(names).test(field)
  )
}

function dotted(path: Path): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1)
}

/** Names that mean something else inside what they name: a webhook's resource name, RANCH's result of a task. */
function elsewhere(names: Path): RegExp {
  if (names.at(-1) === 'name') return /taskId/
  return names.includes('result') ? /artifacts|message/ : /^$/
}

/** Whatever came of a variant that should have been refused; undefined if it was. */
async function complaint(
  { path, wrong }: Variant,
  ask: () => Promise<unknown>,
  isExact: boolean,
): Promise<string | undefined> {
  const where = `${path.join('.')} = ${JSON.stringify(wrong)}`
  try {
    return `${where} reached the caller: ${JSON.stringify(await ask())}`
  } catch (error) {
    if (!(error instanceof A2AError) || error.code !== 'invalidAgentResponse')
      return `${where} gave ${error}`
    return isNamed(error, path, isExact) ? undefined : `${where} is told as ${error.message}`
  }
}

async function complaintsOf(
  variants: readonly Variant[],
  ask: (body: unknown) => Promise<unknown>,
  isExact = false,
): Promise<readonly string[]> {
  const found: string[] = []
  for (const variant of variants) {
    const text = await complaint(variant, () => ask(variant.body), isExact)
    if (text !== undefined) found.push(text)
  }
  return found
}

let tried = 0

describe.each(wires)('$name refuses a wrong type, and names its path', (wire) => {
  test.each(resultsOf(wire))('in every member of the answer to %s', async (name, result) => {
    const client = wire.client()
    const ask = (body: unknown): Promise<unknown> => {
      reply = { type: 'application/json', body: JSON.stringify(wire.envelope(body)) }
      const request = requests[operations[name].takes] as RequestOf<typeof name> // of the operation's kind
      return client.dispatch(name, request, {})
    }
    const valid = wire.result(name, result)
    expect(await ask(valid)).toBeTruthy()
    const variants = variantsOf(valid, operations[name].gives === 'webhooks')
    expect(await complaintsOf(variants, ask, wire.isCanonical)).toEqual([])
    tried += variants.length
    await client.close()
  })

  const events = fullEvents.map((event) => [Object.keys(event)[0], event] as const)
  test.each(events)('in every member of an event with a %s', async (_, event) => {
    const client = wire.client()
    const ask = async (body: unknown): Promise<unknown> => {
      reply = {
        type: 'text/event-stream',
        body: `data: ${JSON.stringify(wire.envelope(body))}\n\n`,
      }
      const seen: unknown[] = []
      for await (const one of client.subscribeToTask('t')) seen.push(one)
      return seen
    }
    const valid = wire.event(event)
    expect(await ask(valid)).toHaveLength(1)
    const variants = variantsOf(valid)
    expect(await complaintsOf(variants, ask, wire.isCanonical)).toEqual([])
    tried += variants.length
    await client.close()
  })
})

test.each([
  ['1.0', fullCard],
  ['0.3', card03(fullCard)],
])('a card of %s with a wrong type in any member is refused, its path named', async (_, card) => {
  const ask = async (body: unknown): Promise<unknown> => {
    reply = { type: 'application/json', body: JSON.stringify(body) }
    const client = new A2AClient({ serverUrl: url })
    try {
      return await client.fetchAgentCard()
    } finally {
      await client.close()
    }
  }
  expect(await ask(card)).toMatchObject({ name: fullCard.name, skills: fullCard.skills })
  const variants = variantsOf(card)
  expect(await complaintsOf(variants, ask)).toEqual([])
  tried += variants.length
})

test('that were more than eleven thousand wrong answers', () => {
  expect(tried).toBeGreaterThan(11_000)
})
