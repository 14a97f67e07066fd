import { expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import type { Wild } from '../contracts/binding.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'
import { createReceiver, type Receiver } from '../webhooks/receiver.ts'
import { begin, openReplicas, type Replica, saying, stateAt } from './scene.ts'
import { createStepper } from './stepper.ts'
import { lastStateOf, subscribe } from './subscription.ts'

const push = { pushNotifications: { guard: { allow: ['127.0.0.1'], allowHttp: true } } }

describePostgres('what replicas share', () => {
  const database = usePostgres()

  async function openReceiver(): Promise<Receiver> {
    const receiver = await createReceiver()
    onTestFinished(() => receiver.close())
    return receiver
  }

  test('a webhook that is registered at another replica hears of the task, each event once', async () => {
    const agent = createStepper(3)
    const replicas = openReplicas(database, agent, 'never')
    const [a, b] = [await replicas.open(push), await replicas.open(push)]
    const receiver = await openReceiver()
    const taskId = await begin(a, 'go')
    await replicas.until(() => agent.begun.length === 1)
    const created = await register(b, { taskId, id: 'hook', url: receiver.url })
    expect(created.error).toBeUndefined()
    agent.pass(3)
    await replicas.until(() => statesAt(receiver).includes('TASK_STATE_COMPLETED'))
    const ids = receiver.requests.map(({ headers }) => headers['x-a2a-event-id'])
    expect(new Set(ids).size).toBe(ids.length)
    expect(chunksAt(receiver)).toEqual(['1 ', '2 ', '3 '])
  })

  test('a webhook that is deleted at another replica hears no more', async () => {
    const agent = createStepper(3)
    const replicas = openReplicas(database, agent, 'never')
    const [a, b] = [await replicas.open(push), await replicas.open(push)]
    const [gone, stays] = [await openReceiver(), await openReceiver()]
    const taskId = await begin(a, 'go')
    await register(a, { taskId, id: 'gone', url: gone.url })
    await register(a, { taskId, id: 'stays', url: stays.url })
    agent.pass(1)
    await replicas.until(() => chunksAt(gone).length === 1 && chunksAt(stays).length === 1)
    const { error } = await b.wire.ask('DeleteTaskPushNotificationConfig', { taskId, id: 'gone' })
    expect(error).toBeUndefined()
    const heard = gone.requests.length
    agent.pass(2)
    await replicas.until(() => statesAt(stays).includes('TASK_STATE_COMPLETED'))
    expect(gone.requests).toHaveLength(heard)
  })

  test('a webhook that is changed at another replica hears at its new address', async () => {
    const agent = createStepper(3)
    const replicas = openReplicas(database, agent, 'never')
    const [a, b] = [await replicas.open(push), await replicas.open(push)]
    const [before, after] = [await openReceiver(), await openReceiver()]
    const taskId = await begin(a, 'go')
    await register(a, { taskId, id: 'hook', url: before.url })
    agent.pass(1)
    await replicas.until(() => chunksAt(before).length === 1)
    await register(b, { taskId, id: 'hook', url: after.url })
    agent.pass(2)
    await replicas.until(() => statesAt(after).includes('TASK_STATE_COMPLETED'))
    expect(chunksAt(before)).toEqual(['1 '])
    expect(chunksAt(after).slice(-2)).toEqual(['2 ', '3 '])
  })

  test('a survivor delivers what a dead replica has not', async () => {
    const agent = createStepper(2)
    const replicas = openReplicas(database, agent)
    const [a, b] = [await replicas.open(push), await replicas.open(push)]
    const receiver = await openReceiver()
    const taskId = await begin(a, 'go')
    await register(a, { taskId, id: 'hook', url: receiver.url })
    agent.pass(1)
    await replicas.until(() => chunksAt(receiver).length === 1)
    a.proxy.kill()
    await replicas.until(async () => (await replicas.runnerOf(taskId)) === b.number)
    agent.pass(1)
    await replicas.until(() => statesAt(receiver).includes('TASK_STATE_COMPLETED'))
    expect(chunksAt(receiver)).toContain('2 ')
  })

  test('a task is changed at another replica than the one that runs it', async () => {
    const agent = createScriptedAgent()
    const replicas = openReplicas(database, agent, 'never')
    const [a, b] = [await replicas.open(), await replicas.open()]
    const id = await begin(a, 'hold')
    const watched = await subscribe(a, id)
    const artifact = { artifactId: 'note', name: 'note', parts: [{ text: 'by the way' }] }
    const tasks = b.server.taskStore()
    const before = await tasks.get(id)
    if (!before) throw new Error('There is no task')
    const saved = await tasks.save({ ...before, artifacts: [artifact] })
    expect(saved?.artifacts).toEqual([artifact])
    await replicas.until(() => watched.seen.some(({ event }) => event.artifactUpdate))
    agent.release()
    await watched.ended
    expect(lastStateOf(watched)).toBe('TASK_STATE_COMPLETED')
    expect((await tasks.get(id))?.artifacts?.map(({ name }) => name)).toEqual(['note', 'response'])
  })

  test('a task that is ended at another replica stays so, whatever its agent says later', async () => {
    const agent = createScriptedAgent()
    const replicas = openReplicas(database, agent, 'never')
    const [a, b] = [await replicas.open(), await replicas.open()]
    const id = await begin(a, 'hold')
    const before = await b.server.taskStore().get(id)
    if (!before) throw new Error('There is no task')
    const status = { state: 'TASK_STATE_FAILED' as const }
    await b.server.taskStore().update({ ...before, status })
    expect(await stateAt(a, id)).toBe('TASK_STATE_FAILED')
    agent.release()
    await replicas.until(async () => (await replicas.runnerOf(id)) === undefined)
    expect(await stateAt(b, id)).toBe('TASK_STATE_FAILED')
  })

  test('values of a context are those of the last turn, wherever it ran', async () => {
    const counting = defineAgent({ name: 'Counting' }, async (_message, turn) => {
      const count = Number((await turn.context.get('count')) ?? 0) + 1
      turn.context.set('count', count)
      return `${count}`
    })
    const replicas = openReplicas(database, counting, 'never')
    const all = [await replicas.open(), await replicas.open(), await replicas.open()]
    const answers: string[] = []
    for (let i = 0; i < 9; i++) {
      const { message } = saying('next')
      const asked = { message: { ...message, contextId: 'talk' } }
      const { result } = (await all[i % 3]?.wire.ask('SendMessage', asked)) ?? {}
      answers.push(result.task.artifacts[0].parts[0].text)
    }
    expect(answers).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9'])
  })
})

function register({ wire }: Replica, config: Wild) {
  return wire.ask('CreateTaskPushNotificationConfig', config)
}

function bodiesAt({ requests }: Receiver): readonly Wild[] {
  return requests.map(({ body }) => JSON.parse(body))
}

function statesAt(receiver: Receiver): readonly string[] {
  return bodiesAt(receiver).flatMap((one) => (one.task ?? one.statusUpdate)?.status.state ?? [])
}

function chunksAt(receiver: Receiver): readonly string[] {
  return bodiesAt(receiver).flatMap((one) => one.artifactUpdate?.artifact.parts[0].text ?? [])
}
