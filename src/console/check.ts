import { A2AError } from '../protocol/errors.ts'
import { newId } from '../shared/ids.ts'
import type { AgentReport } from './api.ts'
import { clientOf, type ForeignAgent } from './foreign-agent.ts'
import { describeAgent } from './foreign-card.ts'

type Check = AgentReport['checks'][number]

/** Asks an agent a few harmless things and says whether it answers as the protocol demands. Nothing is sent to it to do. */
export async function checkAgent(agent: ForeignAgent): Promise<AgentReport> {
  const checks: Check[] = []
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

/** A task that nobody has made is not found, whatever is asked of it (specification §3.3.2). */
async function missingTask(
  agent: ForeignAgent,
  operation: 'GetTask' | 'CancelTask' | 'SubscribeToTask',
): Promise<Check> {
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

async function listsTasks(agent: ForeignAgent): Promise<Check> {
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

function callOf({ signal }: ForeignAgent): { signal?: AbortSignal } {
  return signal ? { signal } : {}
}

function isDescribed(value: unknown): value is Awaited<ReturnType<typeof describeAgent>> {
  return typeof value === 'object' && value !== null && 'cardUrl' in value
}

function wordsOf(thrown: unknown): string {
  return thrown instanceof A2AError ? thrown.message : 'The answer could not be read'
}

function toReport(checks: readonly Check[]): AgentReport {
  const count = (verdict: Check['verdict']): number =>
    checks.filter((one) => one.verdict === verdict).length
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip'), checks }
}
