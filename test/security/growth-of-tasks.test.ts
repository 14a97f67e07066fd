import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import type { Task } from '../../src/protocol/types.ts'
import { weighRecords } from '../../src/store/size-limits.ts'
import type { Store } from '../../src/store/store.ts'
import { rpc, serve } from '../acceptance/serve.ts'
import { stores } from './stores.ts'

const maxTaskBytes = 200_000

/** A remote member that talks until somebody cancels it. */
async function serveEndless() {
  let left: () => void = () => {}
  const gone = new Promise<void>((resolve) => (left = resolve))
  const endless = defineAgent({ name: 'Endless' }, async function* (_message, turn) {
    turn.signal.addEventListener('abort', left)
    const artifact = { artifactId: 'a', parts: [{ text: 'x'.repeat(1_000) }] }
    yield turn.artifact(artifact)
    while (!turn.signal.aborted) {
      yield turn.artifact(artifact, { append: true })
      await new Promise(setImmediate)
    }
  })
  const { url } = await serve({ agents: [endless], timeouts: { shutdownMs: 0 } })
  return { url, gone }
}

function failureOf({ status }: Task): string {
  const [part] = status.message?.parts ?? []
  return `${status.state} ${part && 'text' in part ? part.text : ''}`
}

async function sendTo(url: string, message: object = {}): Promise<Task> {
  const given = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }], ...message }
  const headers = { 'a2a-version': '1.0' }
  const { result } = await rpc(url, { method: 'SendMessage', params: { message: given }, headers })
  return result.task
}

describe.each(stores)('on the %s store', (_name, open) => {
  test('a member that never ends fails its task, and no more than the limit is stored', async () => {
    const store = await open()
    const { url: endpoint, gone } = await serveEndless()
    const member = new A2AAgent({
      id: 'member',
      endpoint,
      timeoutSeconds: 10,
      maxRetries: 0,
      taskHandling: 'PollUntilComplete',
    })
    onTestFinished(() => member.close())
    const { url } = await serve({ agents: [member], store, limits: { maxTaskBytes } })
    const task = await sendTo(url)
    expect(failureOf(task)).toBe(
      'TASK_STATE_FAILED The task has grown beyond 200000 bytes; it is given up',
    )
    await gone
    await expectBounded(store, task.id)
  })

  test('what an earlier process stored counts, too', async () => {
    const store = await open()
    const asking = defineAgent({ name: 'Asking' }, async function* (_message, turn) {
      yield turn.artifact({ artifactId: `a${turn.number}`, parts: [{ text: 'x'.repeat(90_000) }] })
      yield turn.ask('more?')
    })
    const limits = { maxTaskBytes }
    const first = await serve({ agents: [asking], store, limits })
    const task = await sendTo(first.url)
    await first.close()
    const { url } = await serve({ agents: [asking], store, limits })
    const { id: taskId } = task
    expect((await sendTo(url, { taskId })).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(failureOf(await sendTo(url, { taskId }))).toContain('beyond 200000 bytes')
    await expectBounded(store, taskId)
  })
})

/** The limit, and what tells of the end. */
async function expectBounded(store: Store, id: string): Promise<void> {
  expect(weighRecords(await store.records(id, 0))).toBeLessThan(maxTaskBytes + 2_000)
}
