import type { HttpRequest } from '../bindings/http.ts'
import { ipVersion } from '../network/ranges.ts'

/**
 * What proxies say of the requests that they pass on: `Forwarded` (RFC 7239) and the older `X-Forwarded-For`, `-Proto`
 * and `-Host`. Each proxy adds what it saw at the end, so only what trusted proxies have added, read from there, is known.
 */
export interface Hop {
  /** Who called this proxy: an address, or a name that it made up (`_gazonk`); undefined where that cannot be known. */
  readonly client: string | undefined
  /** The host that the proxy was asked for. */
  readonly host: string | undefined
  /** `http` or `https`, if the proxy speaks the truth. */
  readonly proto: string | undefined
}

type Headers = HttpRequest['headers']

/** Longer ones are no lists of proxies. */
const maxLength = 4_096

/** The hops that `Forwarded` tells of, the nearest proxy's last; undefined if the header is malformed. */
export function parseForwarded(header: string): readonly Hop[] | undefined {
  const elements = header.length > maxLength ? undefined : splitUnquoted(header, ',')
  const hops = elements?.filter((element) => element.trim() !== '').map(toHop)
  return hops?.every((hop) => hop !== undefined) ? hops : undefined
}

/** The hops that the older headers tell of; undefined if one is longer than any list of proxies. */
export function parseXForwarded(headers: Headers): readonly Hop[] | undefined {
  const clients = toList(headers['x-forwarded-for'])
  const hosts = toList(headers['x-forwarded-host'])
  const protos = toList(headers['x-forwarded-proto'])
  if (!clients || !hosts || !protos) return undefined
  // Some proxies add to a list, others write one value for all of them.
  const length = Math.max(clients.length, 1)
  return Array.from({ length }, (_, i) => {
    const fromEnd = length - 1 - i
    const client = clients[i]
    return {
      client: client === undefined ? undefined : toNode(client, ipVersion(client) === 6),
      host: nthFromEnd(hosts, fromEnd),
      proto: nthFromEnd(protos, fromEnd),
    }
  })
}

function toList(header: string | undefined): readonly string[] | undefined {
  if (header === undefined) return []
  return header.length > maxLength ? undefined : header.split(',').map((item) => item.trim())
}

function nthFromEnd(items: readonly string[], index: number): string | undefined {
  return items[Math.max(0, items.length - 1 - index)]
}

/** The pieces between separators that stand outside of quotes; undefined if a quote stays open. */
function splitUnquoted(text: string, separator: string): readonly string[] | undefined {
  const pieces: string[] = []
  let start = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === '"') quoted = !quoted
    else if (character === '\\' && quoted) i++
    else if (character === separator && !quoted) {
      pieces.push(text.slice(start, i))
      start = i + 1
    }
  }
  pieces.push(text.slice(start))
  return quoted ? undefined : pieces
}

/** `for=…;host=…;proto=…`; undefined if it is not of that form. */
function toHop(element: string): Hop | undefined {
  const pairs = new Map<string, string>()
  for (const piece of splitUnquoted(element, ';') ?? []) {
    const [, name, token, quoted] = pair.exec(piece.trim()) ?? []
    const key = name?.toLowerCase()
    if (key === undefined || pairs.has(key)) return undefined
    pairs.set(key, token ?? quoted?.replace(/\\(.)/g, '$1') ?? '')
  }
  const client = pairs.get('for')
  return {
    client: client === undefined ? undefined : toNode(client, false),
    host: pairs.get('host'),
    proto: pairs.get('proto'),
  }
}

const pair = /^([\w!#$%&'*+.^`|~-]+)=(?:([\w!#$%&'*+.^`|~:-]+)|"((?:[^"\\]|\\.)*)")$/

/** An address or made-up name without its port; undefined for `unknown` and for what is neither. */
function toNode(text: string, isBare: boolean): string | undefined {
  if (isBare) return text
  const [, bracketed, plain = ''] = node.exec(text) ?? []
  if (bracketed !== undefined) return ipVersion(bracketed) === 6 ? bracketed : undefined
  return ipVersion(plain) === 4 || plain.startsWith('_') ? plain : undefined
}

const node = /^(?:\[([\da-fA-F:.]{2,45})\]|([\w.-]{1,64}))(?::[\w.-]{1,64})?$/
