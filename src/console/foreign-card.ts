import { fetchCard } from '../client/discovery.ts'
import { checkCard } from '../protocol/card-check.ts'
import { A2AError } from '../protocol/errors.ts'
import { createJkuResolver, verifyCard } from '../protocol/signature.ts'
import type { AgentCard } from '../protocol/types.ts'
import type { RelayCard, SignatureVerdict } from './api.ts'
import type { ForeignAgent } from './foreign-agent.ts'

const maxKeyBytes = 256 * 1024

/** An agent's card with what is to be thought of it: how it is spoken to, who signed it, what is wrong with it. */
export async function describeAgent(agent: ForeignAgent): Promise<RelayCard> {
  const { url, http, headers, clock } = agent
  let served: unknown
  const { card, source } = await fetchCard(url, {
    send: (request) => http.send({ ...request, headers: { ...request.headers, ...headers } }),
    known: undefined,
    freshUntil: () => 0,
    clock,
    verify(given) {
      served = given
    },
  })
  return {
    card,
    cardUrl: source,
    speaks: speaksOf(card),
    signature: await judgeSignature(served, agent, source),
    faults: checkCard(card),
  }
}

function speaksOf({ supportedInterfaces: [first] }: AgentCard): string {
  return first ? `A2A ${first.protocolVersion} · ${first.protocolBinding}` : 'nothing that it names'
}

/** Keys are looked for where the card itself comes from, and nowhere else. */
async function judgeSignature(
  served: unknown,
  agent: ForeignAgent,
  source: string,
): Promise<SignatureVerdict> {
  const resolve = createJkuResolver({
    allow: [new URL(source).origin],
    fetchJson: (url) => fetchJson(agent, url),
  })
  const verdicts = await verifyCard(served, { resolve })
  const [first] = verdicts
  if (!first) return { verdict: 'unsigned', detail: 'Nobody has signed this card.' }
  const valid = verdicts.find((one) => one.valid)
  const { kid, reason = '' } = valid ?? first
  const keyId = kid === undefined ? {} : { keyId: kid }
  if (valid)
    return {
      verdict: 'valid',
      detail: `The card is as key ${kid} signed it; the key is published where the card is.`,
      ...keyId,
    }
  const isUnknown = reason.endsWith('is not trusted')
  return isUnknown
    ? {
        verdict: 'unknown-key',
        detail: 'The card is signed by a key that is not published beside it.',
        ...keyId,
      }
    : { verdict: 'invalid', detail: `The signature does not hold: ${reason}.`, ...keyId }
}

async function fetchJson({ http, guard }: ForeignAgent, url: string): Promise<unknown> {
  guard.check(url, 'jku')
  const reply = await http.send({ method: 'GET', url, headers: { accept: 'application/json' } })
  const text = await reply.text(maxKeyBytes)
  if (reply.status !== 200) throw new A2AError('agentUnavailable', `HTTP ${reply.status}`)
  return JSON.parse(text)
}
