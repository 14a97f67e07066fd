import { readFileSync } from 'node:fs'
import type { JsonObject } from '../../../src/protocol/types.ts'
import { besideData, type Tau2Domain } from './vectors.ts'

/** A recorded conversation: the calls that its agent made, each with what tau2's tools answered then. */
export interface Recording {
  readonly id: string
  readonly calls: readonly {
    readonly name: string
    readonly arguments: JsonObject
    readonly content: string
  }[]
}

interface Message {
  readonly role: string
  readonly id?: string
  readonly content: string
  readonly tool_calls?: readonly { id: string; name: string; arguments: JsonObject }[] | null
}

/** The recorded conversations of a domain. */
export function recordings(domain: string): readonly Recording[] {
  const text = readFileSync(besideData(`recorded/to_${domain}.json`), 'utf8')
  const { simulations } = JSON.parse(text)
  return simulations.map(({ id, messages }: { id: string; messages: readonly Message[] }) => {
    const results = new Map(messages.filter((m) => m.role === 'tool').map((m) => [m.id, m.content]))
    const calls = messages
      .flatMap(({ tool_calls }) => tool_calls ?? [])
      .map((call) => ({ ...call, content: results.get(call.id) ?? '' }))
    return { id, calls }
  })
}

/** Does the calls of a recording again, in a fresh world; gives the answers that differ. */
export async function compareRecording(
  domain: Tau2Domain,
  { id, calls }: Recording,
): Promise<readonly string[]> {
  const world = await domain.open({ id })
  const differences: string[] = []
  for (const { name, arguments: args, content } of calls) {
    const answer = await world.call({ id: '', name, arguments: args, requestor: 'assistant' })
    if (answer.content !== content)
      differences.push(`${id}: ${name} gave ${answer.content}, not ${content}`)
  }
  return differences
}
