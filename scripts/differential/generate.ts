import fc from 'fast-check'
import { createRandom, type Random } from '../../test/durability/random.ts'
import { requests as canonical, spoiled } from '../../test/protocol/arbitraries.ts'
import {
  type DialectName,
  dialects,
  type OperationName,
  operationNames,
  restPath,
} from './dialects.ts'
import { otherDoor } from './other-doors.ts'
import type { Request } from './wire.ts'

type Json = Record<string, unknown>
type Headers = (readonly [string, string])[]

/** Ids of earlier answers that later requests use, by their numbers. */
export interface Known {
  readonly tasks: string[]
  readonly contexts: string[]
  readonly tokens: string[]
  readonly configs: string[]
}

/** Requests to one server: the same seed and the same answers make the same requests. */
export class Generator {
  readonly #random: Random
  readonly #kind: string
  readonly #known: Known = {
    tasks: ['t-unknown'],
    contexts: ['c-1', 'c-2'],
    tokens: ['x'],
    configs: ['p-1'],
  }
  readonly #spoilt: ReadonlyMap<OperationName, readonly Json[]>
  #count = 0

  constructor(seed: number, kind: string) {
    this.#random = createRandom(seed)
    this.#kind = kind
    this.#spoilt = new Map(
      operationNames.map((name) => {
        const some = fc.oneof(canonical[name], spoiled(canonical[name]))
        return [name, fc.sample(some, { numRuns: 300, seed })] as const
      }),
    )
  }

  /** Remembers the ids in an answer. */
  learn(body: string): void {
    const { tasks, contexts, tokens, configs } = this.#known
    remember(tasks, body.matchAll(/"(?:id|taskId|task_id)":"((?:task-)?⟦\d+⟧)"/g))
    remember(contexts, body.matchAll(/"(?:contextId|context_id)":"(⟦\d+⟧)"/g))
    remember(tokens, body.matchAll(/"(?:nextPageToken|next)":"(⟦\d+⟧)"/g))
    remember(configs, body.matchAll(/"(?:id|pushNotificationConfigId)":"(p-\d+|⟦\d+⟧)"/g))
  }

  next(): Request {
    this.#count++
    const roll = this.#random.next()
    const request =
      roll < 0.5
        ? this.#rpc()
        : roll < 0.74
          ? this.#rest()
          : otherDoor(this.#random, this.#known, this.#kind)
    return { ...request, headers: [...request.headers, ...this.#credentials()] }
  }

  /** Bytes that are hardly a request. */
  garbage(): Uint8Array {
    const random = this.#random
    const line = random.pick([
      'POST / HTTP/1.1',
      'GET /tasks HTTP/1.1',
      'OPTIONS * HTTP/1.1',
      'GET //// HTTP/1.0',
      'DELETE /%00 HTTP/1.1',
      'BREW / HTTP/1.1',
      'GET /health HTTP/2.0',
    ])
    const headers = [
      'Content-Type: application/json',
      'Content-Length: 12',
      'Content-Length: -1',
      'Transfer-Encoding: chunked',
      'Expect: 100-continue',
      'Connection: Upgrade',
      `X: ${'x'.repeat(20_000)}`,
      'No colon',
    ]
    const chosen = headers.filter(() => random.chance(0.25))
    const tail = Array.from({ length: random.between(0, 60) }, () => random.between(0, 255))
    const head = [line, 'Host: localhost', ...chosen].join('\r\n')
    return Buffer.concat([
      Buffer.from(`${head}\r\n${random.chance(0.7) ? '\r\n' : ''}`),
      Buffer.from(tail),
    ])
  }

  #rpc(): Request {
    const random = this.#random
    const dialect = random.pick<DialectName>(['1.0', '1.0', '1.0-rc', '0.3', '0.3', 'ranch'])
    const path = random.chance(0.7)
      ? dialects[dialect].path
      : random.pick(['/', '/rpc', '/v1/rpc', '/stream', '/rpc/', '/v1/rpc/', '/nowhere'])
    const target = `${this.#mount()}${path}${random.chance(0.03) ? '?A2A-Version=0.3' : ''}`
    const count = random.chance(0.04) ? random.between(0, 6) : undefined
    const one = (): unknown => this.#envelope(dialect)
    const value = count === undefined ? one() : Array.from({ length: count }, one)
    const text = JSON.stringify(value) ?? ''
    const body = random.chance(0.06) ? this.#damage(text) : this.#enlarge(text)
    return {
      method: random.chance(0.98) ? 'POST' : 'GET',
      target,
      headers: this.#headers(dialect),
      body,
    }
  }

  #envelope(dialect: DialectName): Json {
    const random = this.#random
    const { methods } = dialects[dialect]
    const operation = this.#operation()
    const method = random.chance(0.97)
      ? methods[operation]
      : random.pick(['nope', '', 'toString', '__proto__', 'agent/card', 'task/get'])
    const params = this.#params(dialect, operation)
    const id = random.chance(0.95)
      ? this.#count
      : random.pick<unknown>([null, '', 'a', 1.5, true, [], undefined])
    const envelope = { jsonrpc: '2.0', id, method, params }
    return random.chance(0.04) ? this.#spoil(envelope) : envelope
  }

  #params(dialect: DialectName, operation: OperationName): Json {
    const random = this.#random
    if (dialect !== 'ranch' && random.chance(0.12))
      return random.pick(this.#spoilt.get(operation) ?? [{}])
    const params = dialects[dialect].params(operation, random, {
      known: this.#known,
      count: this.#count,
    })
    return random.chance(0.25) ? this.#spoil(params) : params
  }

  #rest(): Request {
    const random = this.#random
    const dialect = random.pick<DialectName>(['1.0', '1.0', '0.3'])
    const operation = this.#operation()
    const { method, path, query } = restPath(operation, random, this.#known)
    const prefix = dialect === '0.3' ? '/v1' : ''
    const tenant = random.chance(0.1) ? random.pick(['/blue', '/red', '/%20', '/tasks']) : ''
    const odd = random.chance(0.06)
      ? random.pick(['/', '//x', '/%', '/%00', '?', '/..', '/%2e%2e/tasks', ':cancel', '/extra'])
      : ''
    const target = `${this.#mount()}${tenant}${prefix}${path}${odd}${query}`
    const verb = random.chance(0.95)
      ? method
      : random.pick(['GET', 'PUT', 'PATCH', 'HEAD', 'DELETE', 'TRACE', 'OPTIONS'])
    const headers = this.#headers(
      random.chance(0.9) ? dialect : random.pick<DialectName>(['1.0', '0.3']),
    )
    if (method !== 'POST') return { method: verb, target, headers }
    const params = dialects[dialect === '0.3' ? '0.3-rest' : '1.0'].params(operation, random, {
      known: this.#known,
      count: this.#count,
    })
    const body = JSON.stringify(random.chance(0.25) ? this.#spoil(params) : params)
    return { method: verb, target, headers, body: random.chance(0.05) ? this.#damage(body) : body }
  }

  /** Sends are as frequent as everything else together: without tasks the rest has nothing to find. */
  #operation(): OperationName {
    const random = this.#random
    if (random.chance(0.35)) return 'SendMessage'
    if (random.chance(0.25)) return 'SendStreamingMessage'
    return random.pick(operationNames)
  }

  #mount(): string {
    const random = this.#random
    if (random.chance(0.75)) return ''
    return `/agents/${random.pick(['player', 'brittle', 'echo-agent', 'flow', 'line', 'led', 'routed', 'auctioned', 'former', 'nobody', '%zz'])}`
  }

  #headers(dialect: DialectName): Headers {
    const random = this.#random
    const headers: Headers = []
    const type = random.chance(0.95)
      ? 'application/json'
      : random.pick(['text/plain', 'application/a2a+json', '', 'application/json; charset=latin1'])
    headers.push(['Content-Type', type])
    const { version } = dialects[dialect]
    if (random.chance(0.06))
      headers.push(['A2A-Version', random.pick(['', '1', '0.3.0', '1.0.9', '2.0', 'x', '1.0,0.3'])])
    else if (version !== '' && random.chance(0.85)) headers.push(['A2A-Version', version])
    const rare: Headers = [
      [
        'A2A-Extensions',
        random.pick([
          'urn:corral:extensions:trace:v1',
          'urn:corral:extensions:usage:v1, urn:still:required',
          'urn:nobody',
          ',',
        ]),
      ],
      ['X-A2A-Extensions', 'urn:corral:extensions:trace:v1'],
      ['Idempotency-Key', `key-${random.between(0, 40)}`],
      ['Last-Event-ID', random.pick(['0', '1', '2', '-1', 'x', '99999999999999999999'])],
      ['Accept', random.pick(['text/event-stream', 'application/json', '*/*', 'text/html'])],
      [
        'Origin',
        random.pick(['https://page.example', 'http://localhost', 'null', 'https://evil.example']),
      ],
      ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
      [
        'Host',
        random.pick([
          'localhost',
          'evil.example',
          '127.0.0.1',
          'agents.example',
          'corral.test:8080',
        ]),
      ],
      ['X-Forwarded-For', '203.0.113.7'],
    ]
    if (this.#kind === 'plain' && random.chance(0.8))
      headers.push(['A2A-Extensions', 'urn:still:required'])
    return [...headers, ...rare.filter(() => random.chance(0.05))]
  }

  #credentials(): Headers {
    const random = this.#random
    if (this.#kind !== 'keyed' && this.#kind !== 'limited') return []
    if (this.#kind === 'limited' && random.chance(0.5)) return []
    if (random.chance(0.05)) return []
    if (random.chance(0.05))
      return [
        [
          'Authorization',
          random.pick(['Bearer token-carl', 'Bearer wrong', 'Basic eA==', 'Bearer']),
        ],
      ]
    return [
      [
        'X-API-Key',
        random.pick([
          'key-anna',
          'key-anna',
          'key-anna',
          'key-bert',
          'key-reader',
          'key-echo',
          'key-boss',
          'wrong',
        ]),
      ],
    ]
  }

  #spoil(value: Json): Json {
    const seed = this.#random.between(0, 2 ** 30)
    return fc.sample(spoiled(fc.constant(value)), { numRuns: 1, seed })[0] ?? value
  }

  /** Cuts a text, doubles a part of it or changes a character. */
  #damage(text: string): string {
    const random = this.#random
    const at = random.between(0, text.length)
    const extra = random.pick(['', '"', '{', '}', ',', '\u0000', '\ud83d', '\\', '[[[['])
    return (
      text.slice(0, at) + extra + (random.chance(0.4) ? '' : text.slice(at + random.between(0, 2)))
    )
  }

  /** Now and then a body is large or deep. */
  #enlarge(text: string): string {
    const random = this.#random
    if (!random.chance(0.004)) return text
    if (random.chance(0.1)) return `${text.slice(0, -1)},"x":"${'x'.repeat(11 * 1024 * 1024)}"}`
    if (random.chance(0.5))
      return `${text.slice(0, -1)},"x":"${'x'.repeat(random.between(60_000, 200_000))}"}`
    const depth = random.pick([14, 15, 16, 17, 62, 63, 64, 65, 500, 20_000])
    return text.replace(
      '"params":{',
      `"params":{"metadata":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)},`,
    )
  }
}

const maxKnown = 60

function remember(list: string[], found: Iterable<RegExpMatchArray>): void {
  for (const [, id = ''] of found) if (!list.includes(id)) list.push(id)
  if (list.length > maxKnown) list.splice(0, list.length - maxKnown)
}
