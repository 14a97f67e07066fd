import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, request } from 'undici'
import type { ClientReply, ClientRequest } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'
import { connectFailure, connectionLost } from './network.ts'
import {
  createReply,
  type HttpClient,
  type HttpOptions,
  maxReplyBytes,
  type Reach,
} from './reply.ts'

/**
 * HTTP over undici with kept-alive connections: a fifth of the cost of the built-in fetch. Redirects are not followed,
 * so that credentials go nowhere unasked. `package.json` puts `fetch.ts` in this file's place in a browser.
 */
export function createHttp(options: HttpOptions = {}): HttpClient {
  const { connectMs = 10_000, verifySsl = true, reach } = options
  const dispatcher = new Agent({
    connect: {
      timeout: connectMs,
      rejectUnauthorized: verifySsl,
      ...(reach && { lookup: checkedLookup(reach) }),
    },
    headersTimeout: 0, // the client's own timeouts rule
    bodyTimeout: 0,
  })
  let closing: Promise<void> | undefined
  return {
    async send(message) {
      // An address needs no lookup, so it is looked at here.
      const host = reach ? hostOf(message.url) : ''
      if (reach && isIP(host) && !reach(host, [host])) throw fault(unreachable(), message)
      return sendOver(dispatcher, message)
    },
    close: () => (closing ??= dispatcher.destroy()),
  }
}

/** Gives a name's addresses to the connection only if all of them may be reached. */
function checkedLookup(reach: Reach): LookupFunction {
  return (hostname, options, callback) => {
    systemLookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '', 0)
      const addresses = found.map(({ address }) => address)
      const [first] = found
      if (!first || !reach(hostname, addresses)) return callback(unreachable(), '', 0)
      if (options.all) callback(null, found)
      else callback(null, first.address, first.family)
    })
  }
}

/** Like a host that does not answer: another interface of the card may. */
function unreachable(): NodeJS.ErrnoException {
  return Object.assign(new Error('The address must not be reached'), { code: 'EHOSTUNREACH' })
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : ''
}

async function sendOver(dispatcher: Agent, message: ClientRequest): Promise<ClientReply> {
  const { url, method, headers, body = null, signal = null } = message
  const verb = method as 'GET' // undici's type lists the verbs; bindings use verbs of that list
  try {
    const answer = await request(url, { dispatcher, method: verb, headers, body, signal })
    const head = { status: answer.statusCode, headers: joined(answer.headers) }
    const lost = (cause: unknown): unknown => fault(cause, message)
    const reply = createReply(head, () => answer.body, lost)
    if (!(Number(head.headers['content-length']) <= maxReplyBytes)) return reply
    // To iterate a body that comes in one piece costs half as much as the request; undici reads it for less.
    return {
      ...reply,
      text: () => answer.body.text().catch((cause) => Promise.reject(lost(cause))),
    }
  } catch (cause) {
    throw fault(cause, message)
  }
}

/** Codes of failures before a connection stood; certificates are looked at before anything is sent. */
const unconnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$|CERT|TLS|SELF_SIGNED/

function fault(cause: unknown, { url, signal }: ClientRequest): unknown {
  if (signal?.aborted) return signal.reason
  const { code = '', syscall } = (cause ?? {}) as { code?: string; syscall?: string } // as Node's errors are
  if (/DESTROYED|CLOSED/.test(code)) return new A2AError('invalidRequest', 'The client is closed')
  if (/INVALID_(ARG|URL)/.test(code))
    return new A2AError('invalidRequest', 'HTTP cannot carry this request', { cause })
  const early = unconnected.test(code) || syscall === 'connect'
  return early ? connectFailure(url, cause) : connectionLost(url, cause)
}

function joined(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | undefined> {
  const all: Record<string, string | undefined> = {}
  for (const name in headers) {
    const value = headers[name]
    all[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return all
}
