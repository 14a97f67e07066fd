import { type AgentInfo, renderCard } from '../../protocol/card.ts'
import type { AgentCard, JsonObject } from '../../protocol/types.ts'
import { type Fields, isFields } from '../../shared/json.ts'

/*
 * The answer to RANCH's `agent/card`, both halves: as our server writes it, and as the card of A2A that a client makes of
 * one, for a server that has no other.
 */

/** The URI of RANCH's JSON-RPC as a custom binding; standard clients skip it (specification §5.8). */
export const ranchBinding = 'urn:corral:bindings:ranch'

/** The card of RANCH's `agent/card`. */
interface RanchCard {
  readonly agent_id: string
  readonly name: string
  readonly description: string
  readonly capabilities: readonly {
    readonly name: string
    readonly description: string
    readonly version: string
  }[]
  readonly skills: readonly { readonly name: string; readonly proficiency: string }[]
  readonly version: string
  readonly provider: { readonly name: string; readonly url: string }
}

const framework = { name: 'Corral', url: 'urn:corral' }

/**
 * What an agent says of itself, as a RANCH card. Abilities keep their order and occur once; without details a
 * description is the name, a version "1.0.0" and the provider the framework.
 */
export function toRanchCard(info: AgentInfo): RanchCard {
  const { details } = info
  const { provider } = details ?? {}
  return {
    agent_id: info.id,
    name: info.name,
    description: info.description,
    capabilities: [...new Set(info.capabilities)].map((name) => toCapability(name, info)),
    skills: (details?.proficiencies ?? []).map(({ name, proficiency }) => ({ name, proficiency })),
    version: details?.version ?? '1.0.0',
    provider: provider ? { name: provider.organization, url: provider.url } : framework,
  }
}

function toCapability(name: string, info: AgentInfo): RanchCard['capabilities'][number] {
  const known = info.details?.capabilities?.find((detail) => detail.name === name)
  return {
    name,
    description: known?.description ?? name,
    version: known?.version ?? '1.0.0',
  }
}

/** What a RANCH server says of itself, as far as it does. */
interface ForeignCard {
  readonly agent_id?: string
  readonly name: string
  readonly description?: string
  readonly capabilities: RanchCard['capabilities']
  readonly skills: RanchCard['skills']
  readonly version?: string
  readonly provider?: RanchCard['provider']
}

/** The card of A2A behind the answer to `agent/card` at an endpoint; undefined for any other answer. */
export function readRanchCard(reply: unknown, endpoint: string): AgentCard | undefined {
  const foreign = isFields(reply) ? parseCard(reply.result) : undefined
  if (!foreign) return undefined
  return renderCard(toInfo(foreign), {
    interfaces: [{ url: endpoint, protocolBinding: ranchBinding, protocolVersion: '0.3' }],
    // A server without streams says so when it is asked for one, and is then polled.
    streaming: true,
    pushNotifications: false,
    extendedAgentCard: false,
    // Its own words, for what a card of A2A has no place for.
    extensions: [{ uri: ranchBinding, params: toParams(foreign) }],
  })
}

/** What a RANCH server says of itself, from the card that was made of it; undefined for any other card. */
export function ranchInfoOf(card: AgentCard): AgentInfo | undefined {
  const own = card.capabilities.extensions?.find(({ uri }) => uri === ranchBinding)
  const foreign = own && parseCard(own.params)
  return foreign && toInfo(foreign)
}

function toParams({ capabilities, skills, provider, ...words }: ForeignCard): JsonObject {
  return {
    ...words,
    capabilities: capabilities.map((one) => ({ ...one })),
    skills: skills.map((one) => ({ ...one })),
    ...(provider && { provider: { ...provider } }),
  }
}

function toInfo({ agent_id, name, description = '', version, ...card }: ForeignCard): AgentInfo {
  const { provider, capabilities, skills } = card
  return {
    id: agent_id ?? name,
    name,
    description: description || name,
    capabilities: [...new Set(capabilities.map((one) => one.name))],
    metadata: {},
    details: {
      ...(version !== undefined && { version }),
      ...(provider && { provider: { organization: provider.name, url: provider.url } }),
      capabilities,
      ...(skills.length > 0 && { proficiencies: skills }),
      inputModes: ['text/plain'],
      outputModes: ['text/plain'],
    },
  }
}

function parseCard(value: unknown): ForeignCard | undefined {
  const card = isFields(value) ? value : {}
  const name = textOf(card.name)
  if (name === undefined) return undefined
  const [provider] = named([card.provider])
  return {
    ...optional('agent_id', textOf(card.agent_id)),
    name,
    ...optional('description', textOf(card.description)),
    capabilities: named(card.capabilities).map((one) => ({
      name: one.name,
      description: textOf(one.description) ?? one.name,
      version: textOf(one.version) ?? '1.0.0',
    })),
    skills: named(card.skills).map((one) => ({
      name: one.name,
      proficiency: textOf(one.proficiency) ?? '',
    })),
    ...optional('version', textOf(card.version)),
    ...(provider && { provider: { name: provider.name, url: textOf(provider.url) ?? '' } }),
  }
}

/** The entries of a list that have a name; the rest of a stranger's card may still be of use. */
function named(list: unknown): readonly (Fields & { readonly name: string })[] {
  const entries: readonly unknown[] = Array.isArray(list) ? list : []
  return entries.flatMap((entry) => {
    const raw = isFields(entry) ? entry : undefined
    const name = textOf(raw?.name)
    return raw && name !== undefined ? [{ ...raw, name }] : []
  })
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V }) // one key, one value
}
