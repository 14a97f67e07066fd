import { expect, test } from 'vitest'
import { createScriptedAgent } from '../conformance/agent.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'
import { begin, openReplicas, saying, stateAt } from './scene.ts'
import { createStepper } from './stepper.ts'
import { subscribe, textOf } from './subscription.ts'

const patient = { timeouts: { shutdownMs: 20_000 } }

describePostgres('a replica that closes', () => {
  const database = usePostgres()

  test('hands what can be resumed to another one at once, and no finished step begins again', async () => {
    const agent = createStepper(3)
    const replicas = openReplicas(database, agent, 'never')
    const [a, b] = [await replicas.open(patient), await replicas.open(patient)]
    const id = await begin(a, 'go')
    const watched = await subscribe(b, id)
    agent.pass(1)
    await replicas.until(() => agent.begun.length === 2)
    await a.server.close()
    await replicas.until(async () => (await replicas.runnerOf(id)) === b.number)
    agent.pass(2)
    await watched.ended
    expect(textOf(watched)).toBe('1 2 3 ')
    expect(agent.begun.map((key) => key.slice(-1))).toEqual(['1', '2', '2', '3'])
  })

  test('ends its streams, whose readers go on elsewhere', async () => {
    const agent = createStepper(2)
    const replicas = openReplicas(database, agent, 'never')
    const [a, b] = [await replicas.open(patient), await replicas.open(patient)]
    const id = await begin(a, 'go')
    const first = await subscribe(a, id)
    agent.pass(1)
    await replicas.until(() => textOf(first) === '1 ')
    await a.server.close()
    await first.ended
    const second = await subscribe(b, id, first.seen.at(-1)?.id)
    await replicas.until(() => agent.begun.length === 3)
    agent.pass(1)
    await second.ended
    expect(textOf(second)).toBe('1 2 ')
  })

  test('waits for what cannot be resumed', async () => {
    const agent = createScriptedAgent()
    const replicas = openReplicas(database, agent, 'never')
    const [a, b] = [await replicas.open(patient), await replicas.open(patient)]
    const id = await begin(a, 'hold')
    let isClosed = false
    const closing = a.server.close().then(() => {
      isClosed = true
    })
    expect((await a.wire.ask('SendMessage', saying('more'))).status).not.toBe(200)
    expect(await stateAt(b, id)).toBe('TASK_STATE_WORKING')
    expect(isClosed).toBe(false)
    agent.release()
    await closing
    expect(await stateAt(b, id)).toBe('TASK_STATE_COMPLETED')
  })

  test('answers who waits for a task that goes on elsewhere', async () => {
    const agent = createStepper(2)
    const replicas = openReplicas(database, agent, 'never')
    const [a, b] = [await replicas.open(patient), await replicas.open(patient)]
    const headers = { 'idempotency-key': 'one' }
    const asked = a.wire.ask('SendMessage', saying('go'), headers)
    await replicas.until(() => agent.begun.length === 1)
    await a.server.close()
    const { result, error } = await asked
    expect(error).toBeUndefined()
    expect(result.task.status.state).toBe('TASK_STATE_WORKING')
    await replicas.until(() => agent.begun.length === 2)
    agent.pass(2)
    await replicas.until(async () => (await stateAt(b, result.task.id)) === 'TASK_STATE_COMPLETED')
    const again = await b.wire.ask('SendMessage', saying('go'), headers)
    expect(again.result.task.id).toBe(result.task.id)
  })
})
