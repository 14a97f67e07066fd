import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent } from 'undici'
import type { Reach } from '../network/member-guard.ts'
import { systemClock } from '../shared/clock.ts'
import { HttpExchange } from './exchange.ts'
import { connectFailure } from './faults.ts'
import type { HttpClient, HttpOptions } from './http.ts'

/**
 * HTTP over undici with kept-alive connections: a fifth of the cost of the built-in fetch. Redirects are not followed,
 * so that credentials go nowhere unasked. `package.json` puts `fetch.ts` in this file's place in a browser.
 */
export function createHttp(options: HttpOptions = {}): HttpClient {
  const { connectMs = 10_000, verifySsl = true, reach, clock = systemClock } = options
  const limits = { ...options, clock }
  const dispatcher = new Agent({
    connect: {
      timeout: connectMs,
      rejectUnauthorized: verifySsl,
      ...(reach && { lookup: checkedLookup(reach) }),
    },
    headersTimeout: 0, // an exchange keeps the time itself
    bodyTimeout: 0,
  })
  let closing: Promise<void> | undefined
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        request.signal?.throwIfAborted()
        if (reach && isForbidden(request.url, reach))
          throw connectFailure(request.url, unreachable())
        new HttpExchange(request, { resolve, reject }, limits).start(dispatcher)
      }),
    close: () => (closing ??= dispatcher.destroy()),
  }
}

/** Whether a URL names an address that must not be reached: it needs no lookup, so it is looked at here. */
function isForbidden(url: string, reach: Reach): boolean {
  const host = hostOf(url)
  return isIP(host) !== 0 && !reach(host, [host])
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
