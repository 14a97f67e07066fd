import { A2AClient } from '../client/client.ts'
import { fetchCard } from '../client/discovery.ts'
import type { HttpClient } from '../client/http.ts'
import type { Guard } from '../network/guard.ts'
import { checkCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import { createJkuResolver, verifyCard } from '../protocol/signature.ts'
import type { AgentCard } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import type { AgentReport, RelayCard, SignatureVerdict } from './api.ts'

/** A remote agent that is asked something. */
export interface ForeignAgent extends Way {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly clock: Clock
  readonly signal?: AbortSignal
}

/** A way to remote agents, under the rules of the network guard. */
export interface Way {
  readonly guard: Guard
  readonly http: HttpClient
}

type AgentCheck = AgentReport['checks'][number]

/** Asks an agent a few harmless things and says whether it answers as the protocol demands. Nothing is sent to it to do. */
export async function checkAgent(agent: ForeignAgent): Promise<AgentReport> {
  const checks: AgentCheck[] = []
  const described = await describeAgent(agent).catch((thrown: unknown) => thrown)
  if (described instanceof Error || !isDescribed(described)) {
    checks.push({ name: 'It has a card', verdict: 'fail', detail: wordsOf(described) })
    return toReport(checks)
  }
  const { faults, signature, speaks, card } = described
  checks.push({ name: 'It has a card', verdict: 'pass', detail: speaks })
  for (const { field, description } of faults)
    checks.push({ name: `Card: ${field}`, verdict: 'fail', detail: description })
  if (faults.length === 0) checks.push({ name: 'Its card is whole', verdict: 'pass' })
  const isSigned = signature.verdict !== 'unsigned'
  checks.push({
    name: 'Its signature holds',
    verdict: isSigned ? (signature.verdict === 'invalid' ? 'fail' : 'pass') : 'skip',
    detail: signature.detail,
  })
  checks.push(await missingTask(agent, 'GetTask'))
  checks.push(await missingTask(agent, 'CancelTask'))
  checks.push(await listsTasks(agent))
  const { streaming = false } = card.capabilities
  checks.push(
    streaming
      ? await missingTask(agent, 'SubscribeToTask')
      : { name: 'SubscribeToTask', verdict: 'skip', detail: 'It does not stream' },
  )
  return toReport(checks)
}

/** An agent's card with what is to be thought of it: how it is spoken to, who signed it, what is wrong with it. */
export async function describeAgent(agent: ForeignAgent): Promise<RelayCard> {
  const { url, http, headers, clock } = agent
  let served: unknown
  const { card, source } = await fetchCard(url, {
    send: (request) =>
      http.send({ ...request, ...callOf(agent), headers: { ...request.headers, ...headers } }),
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

const maxKeyBytes = 256 * 1024

async function fetchJson(agent: ForeignAgent, url: string): Promise<unknown> {
  const { http, guard } = agent
  guard.check(url, 'jku')
  const headers = { accept: 'application/json' }
  const reply = await http.send({ method: 'GET', url, headers, ...callOf(agent) })
  const text = await reply.text(maxKeyBytes)
  if (reply.status !== 200) throw new A2AError('agentUnavailable', `HTTP ${reply.status}`)
  return JSON.parse(text)
}

function isDescribed(value: unknown): value is Awaited<ReturnType<typeof describeAgent>> {
  return typeof value === 'object' && value !== null && 'cardUrl' in value
}

function wordsOf(thrown: unknown): string {
  return thrown instanceof A2AError ? thrown.message : 'The answer could not be read'
}

function toReport(checks: readonly AgentCheck[]): AgentReport {
  const count = (verdict: AgentCheck['verdict']): number =>
    checks.filter((one) => one.verdict === verdict).length
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip'), checks }
}

/** A task that was never made is not found, whatever is asked of it (specification §3.3.2). */
async function missingTask(
  agent: ForeignAgent,
  operation: 'GetTask' | 'CancelTask' | 'SubscribeToTask',
): Promise<AgentCheck> {
  const name = `${operation} of a task that is not there says so`
  try {
    await clientOf(agent).dispatch(operation, { id: newId() }, callOf(agent))
    return { name, verdict: 'fail', detail: 'It answered as if the task were there' }
  } catch (thrown) {
    const { code } = thrown instanceof A2AError ? thrown : { code: 'internal' }
    if (code === 'taskNotFound') return { name, verdict: 'pass' }
    if (code === 'unauthenticated' || code === 'forbidden')
      return { name, verdict: 'skip', detail: 'It asks for credentials' }
    return { name, verdict: 'fail', detail: wordsOf(thrown) }
  }
}

/** A client for one request: nothing is kept of the agent. */
export function clientOf({ url, headers, http, clock }: ForeignAgent): A2AClient {
  return new A2AClient({
    serverUrl: url,
    send: http.send,
    headers,
    clock,
    retry: { maxRetries: 0 },
  })
}

function callOf({ signal }: ForeignAgent): { signal?: AbortSignal } {
  return signal ? { signal } : {}
}

async function listsTasks(agent: ForeignAgent): Promise<AgentCheck> {
  const name = 'ListTasks gives a page'
  try {
    await clientOf(agent).dispatch('ListTasks', { pageSize: 1 }, callOf(agent))
    return { name, verdict: 'pass' }
  } catch (thrown) {
    const { code } = thrown instanceof A2AError ? thrown : { code: 'internal' }
    const isOptional = ['unsupportedOperation', 'methodNotFound', 'unauthenticated', 'forbidden']
    return { name, verdict: isOptional.includes(code) ? 'skip' : 'fail', detail: wordsOf(thrown) }
  }
}
