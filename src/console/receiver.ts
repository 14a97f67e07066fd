import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ConsoleHost, ReceivedDelivery } from '../server/console.ts'
import { toTimestamp } from '../shared/clock.ts'
import type { ReceivedBody, TrialReceiver } from './api.ts'
import { type ApiHandler, ok } from './call.ts'

/** How much a receiver keeps, for how long, and how many there are. */
const maxBodies = 50
const maxBytes = 1024 * 1024
const lifeMs = 3_600_000
const maxReceivers = 200
const maxReceiversEach = 10

/** Addresses to try webhooks with: what is sent there is shown to whoever made it, and to nobody else. */
interface Receivers {
  readonly create: ApiHandler
  readonly show: ApiHandler
  /** Takes in what anybody sends to a receiver whose id he knows. */
  post(id: string, request: HttpRequest): HttpReply
  /** The same from a webhook of this server; undefined for an address that is none of these. */
  receive(delivery: ReceivedDelivery): number | undefined
  isReceiver(url: string): boolean
}

interface Kept {
  readonly id: string
  readonly owner: string
  readonly expires: number
  readonly bodies: ReceivedBody[]
  bytes: number
}

/** Makes the receivers of a console; none at first. */
export function createReceivers({ clock, url }: ConsoleHost): Receivers {
  const kept = new Map<string, Kept>()

  const find = (id: string): Kept | undefined => {
    for (const one of kept.values()) if (one.expires <= clock.now()) kept.delete(one.id)
    return kept.get(id)
  }
  const urlOf = (id: string): string => url() + pathOf(id)
  const idIn = (address: string): string => {
    const start = address.startsWith('/') ? pathOf('') : urlOf('')
    return address.startsWith(start) ? address.slice(start.length) : ''
  }
  const toReceiver = ({ id, expires, bodies }: Kept): TrialReceiver => ({
    id,
    url: urlOf(id),
    expiresAt: toTimestamp(expires),
    bodies,
  })

  function take(receiver: Kept, headers: HttpRequest['headers'], body: string): number {
    const bytes = Buffer.byteLength(body)
    if (bytes > maxBytes) return 413
    receiver.bodies.unshift({ at: toTimestamp(clock.now()), headers: shownHeaders(headers), body })
    receiver.bytes += bytes
    while (receiver.bodies.length > maxBodies || receiver.bytes > maxBytes)
      receiver.bytes -= Buffer.byteLength(receiver.bodies.pop()?.body ?? '')
    return 204
  }

  return {
    create({ viewer }) {
      const owner = viewer.auth.userId
      find('')
      const own = [...kept.values()].filter((one) => one.owner === owner)
      // The oldest of one's own gives way; others' never do.
      if (own.length >= maxReceiversEach) kept.delete(own[0]?.id ?? '')
      else if (kept.size >= maxReceivers)
        throw new A2AError('unavailable', 'There are too many receivers; try again later')
      const id = randomId()
      const fresh: Kept = { id, owner, expires: clock.now() + lifeMs, bodies: [], bytes: 0 }
      kept.set(id, fresh)
      return ok(toReceiver(fresh))
    },
    show({ id, viewer }) {
      const found = find(id)
      if (found && found.owner === viewer.auth.userId) return ok(toReceiver(found))
      throw new A2AError('taskNotFound', 'There is no such receiver; it may have expired')
    },
    post(id, { headers, body, bytes, fault }) {
      const found = find(id)
      const text = bytes ? Buffer.from(bytes).toString('utf8') : body
      const status = found ? (fault ? 413 : take(found, headers, text)) : 404
      return { status, headers: { 'cache-control': 'no-store' } }
    },
    receive({ url: address, headers, body }) {
      const id = idIn(address)
      if (id === '') return undefined
      const found = find(id)
      return found ? take(found, headers, body) : 404
    },
    isReceiver: (address) => find(idIn(address)) !== undefined,
  }
}

function pathOf(id: string): string {
  return `/console/api/receiver/${id}`
}

/** 192 random bits: nobody finds it by trying. */
function randomId(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString('base64url')
}

const plain = new Set(['content-type', 'user-agent', 'x-a2a-event-id', 'x-a2a-signature'])
const secret = new Set(['authorization', 'x-a2a-notification-token'])

/** What tells something of a webhook; that there was a credential, but not which. */
function shownHeaders(headers: HttpRequest['headers']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      if (value === undefined) return []
      if (secret.has(name)) return [[name, '…']]
      return plain.has(name) ? [[name, value]] : []
    }),
  )
}
