import { maxSmallBytes } from '../../client/bounds.ts'
import type { Transport } from '../../client/transport.ts'
import type { AgentDetails, AgentInfo } from '../agent.ts'
import type { LocalInfo } from './info.ts'

type Send = Parameters<Transport['connect']>[0]

/** What a RANCH server says of itself when it is asked for `agent/card`, as far as it does. */
export interface RanchAgentCard {
  readonly agent_id?: string
  readonly name: string
  readonly description?: string
  readonly capabilities: readonly Capability[]
  readonly skills: readonly { readonly name: string; readonly proficiency: string }[]
  readonly version?: string
  readonly provider?: { readonly name: string; readonly url?: string }
}

interface Capability {
  readonly name: string
  readonly description?: string
  readonly version?: string
}

/** Asks a RANCH server for its card; undefined where it has none, or none that can be read. */
export async function askRanchCard(
  send: Send,
  url: string,
  signal?: AbortSignal,
): Promise<RanchAgentCard | undefined> {
  const reply = await send({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: '{"jsonrpc":"2.0","method":"agent/card","params":{},"id":1}',
    ...(signal && { signal }),
  })
  const text = await reply.text(maxSmallBytes)
  return reply.status === 200 ? parseCard(text) : undefined
}

/** A remote agent's info by its RANCH card: local names first, then the card's. */
export function fromRanchCard(local: LocalInfo, card: RanchAgentCard): AgentInfo {
  const name = local.name ?? card.name
  const abilities = local.capabilities?.length
    ? local.capabilities
    : card.capabilities.map((capability) => capability.name)
  return {
    id: local.id ?? local.agentId ?? card.agent_id ?? card.name,
    name,
    description: local.description ?? card.description ?? name,
    capabilities: [...new Set(abilities)],
    metadata: { ...local.metadata, type: 'a2a' },
    details: detailsOf(card),
  }
}

function detailsOf({ version, provider, capabilities, skills }: RanchAgentCard): AgentDetails {
  return {
    ...(version !== undefined && { version }),
    ...(provider && { provider: { organization: provider.name, url: provider.url ?? '' } }),
    capabilities: capabilities.map((one) => ({
      name: one.name,
      description: one.description ?? one.name,
      version: one.version ?? '1.0.0',
    })),
    ...(skills.length > 0 && { proficiencies: skills }),
  }
}

function parseCard(text: string): RanchAgentCard | undefined {
  const card = objectOf(objectOf(tryParse(text))?.result)
  const name = textOf(card?.name)
  if (!card || name === undefined) return undefined
  const provider = objectOf(card.provider)
  return {
    ...optional('agent_id', textOf(card.agent_id)),
    name,
    ...optional('description', textOf(card.description)),
    capabilities: named(card.capabilities).map((one) => ({
      name: one.name,
      ...optional('description', textOf(one.description)),
      ...optional('version', textOf(one.version)),
    })),
    skills: named(card.skills).map((one) => ({
      name: one.name,
      proficiency: textOf(one.proficiency) ?? '',
    })),
    ...optional('version', textOf(card.version)),
    ...optional('provider', named([provider]).map(toProvider)[0]),
  }
}

function toProvider(one: Named): { readonly name: string; readonly url?: string } {
  return { name: one.name, ...optional('url', textOf(one.url)) }
}

type Named = Readonly<Record<string, unknown>> & { readonly name: string }

/** The entries of a list that have a name; the rest of a stranger's card may still be of use. */
function named(list: unknown): readonly Named[] {
  const entries: readonly unknown[] = Array.isArray(list) ? list : []
  return entries.flatMap((entry) => {
    const raw = objectOf(entry)
    const name = textOf(raw?.name)
    return raw && name !== undefined ? [{ ...raw, name }] : []
  })
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return value as Readonly<Record<string, unknown>> // an object from JSON.parse
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V }) // one key, one value
}
