import type { HttpSend } from '../../bindings/http.ts'
import { maxSmallBytes } from '../bounds.ts'

/** Statuses whose answers have no body. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

/** `fetch` for authorization servers over a client's own connections, with their guard and limits. */
export function fetchOver(send: HttpSend): typeof fetch {
  return async (input, init = {}) => {
    const { method = 'GET', headers, body, signal } = init
    const reply = await send({
      method,
      url: String(input),
      headers: Object.fromEntries(new Headers(headers)),
      ...(body != null && { body: String(body) }), // a form, as all requests of OAuth are
      ...(signal && { signal }),
    })
    const text = await reply.text(maxSmallBytes)
    const { status } = reply
    const kept = Object.entries(reply.headers).filter(([, value]) => value !== undefined)
    return new Response(bodiless.has(status) ? null : text, {
      status,
      headers: kept as [string, string][], // those without a value are left out
    })
  }
}
