import { expect, test } from 'vitest'
import { createScriptedAgent } from '../conformance/agent.ts'
import { isSession } from '../support/cutting-proxy.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'
import { begin, openReplicas, saying, shortLease, stateAt, stepsOf } from './scene.ts'
import { createStepper } from './stepper.ts'
import { subscribe, textOf } from './subscription.ts'

const completed = 'TASK_STATE_COMPLETED'

describePostgres('a replica and its database', () => {
  const database = usePostgres()

  test.each(['both', 'requests', 'answers'] as const)(
    'cut off from each other (%s): another one goes on, and what the first says later does not count',
    async (which) => {
      const agent = createStepper(3)
      const replicas = openReplicas(database, agent)
      const [a, b] = [await replicas.open({ store: shortLease }), await replicas.open()]
      const former = a.number
      const asked = a.wire.ask('SendMessage', saying('go'))
      agent.pass(1)
      await replicas.until(() => agent.begun.length === 2)
      const id = agent.begun[0]?.split('/')[0] ?? ''
      const watched = await subscribe(b, id)
      a.proxy.cut(which)
      await replicas.until(async () => (await replicas.runnerOf(id)) === b.number)
      await replicas.until(() => agent.begun.length === 3)
      // The first to wait is the former one, whose result comes too late.
      agent.pass(3)
      await watched.ended
      expect(textOf(watched)).toBe('1 2 3 ')
      a.proxy.heal()
      expect((await asked).result?.task.status.state).toBe(completed)
      await replicas.until(() => a.number !== former)
      expect(await stepsOf(b, id)).toEqual(['step-1', 'step-2', 'step-3'])
      expect(agent.begun.map((key) => key.slice(-1))).toEqual(['1', '2', '2', '3'])
    },
  )

  test('far from each other: everything takes longer, and nothing moves', async () => {
    const agent = createStepper(3)
    const replicas = openReplicas(database, agent)
    const [a, b] = [await replicas.open(), await replicas.open()]
    const former = a.number
    a.proxy.slow(150)
    const asked = a.wire.ask('SendMessage', saying('go'))
    agent.pass(3)
    const { result } = await asked
    expect(result.task.status.state).toBe(completed)
    expect(await stepsOf(b, result.task.id)).toEqual(['step-1', 'step-2', 'step-3'])
    expect(agent.begun).toHaveLength(3)
    expect(a.number).toBe(former)
  })

  test.each([
    ['all connections', undefined],
    ['the one that listens', isSession],
  ])('%s broken: it registers anew, and whoever waits gets the answer', async (_, which) => {
    const agent = createStepper(3)
    const replicas = openReplicas(database, agent)
    const [a, b] = [await replicas.open(), await replicas.open()]
    const former = a.number
    const asked = a.wire.ask('SendMessage', saying('go'))
    agent.pass(1)
    await replicas.until(() => agent.begun.length === 2)
    const id = agent.begun[0]?.split('/')[0] ?? ''
    a.proxy.reset(which)
    await replicas.until(() => a.number !== former)
    await replicas.until(() => agent.begun.length === 3)
    agent.pass(2)
    expect((await asked).result?.task.status.state).toBe(completed)
    expect(await stepsOf(b, id)).toEqual(['step-1', 'step-2', 'step-3'])
    expect(agent.begun.map((key) => key.slice(-1))).toEqual(['1', '2', '2', '3'])
  })

  test('a step whose commit was done and not answered is stored once, and does not begin again', async () => {
    const agent = createStepper(3)
    const replicas = openReplicas(database, agent)
    const [a, b] = [await replicas.open(), await replicas.open()]
    const id = await begin(a, 'go')
    await replicas.until(() => agent.begun.length === 1)
    const lost = a.proxy.loseAnswer((statement) => /UPDATE \S+\.task/.test(statement))
    agent.pass(1)
    await lost
    a.proxy.heal()
    await replicas.until(() => agent.begun.length === 2)
    agent.pass(2)
    await replicas.until(async () => (await stateAt(b, id)) === completed)
    expect(await stepsOf(b, id)).toEqual(['step-1', 'step-2', 'step-3'])
    expect(agent.begun).toHaveLength(3)
  })

  test('a task whose birth was stored and not answered is there once', async () => {
    const agent = createStepper(1)
    const replicas = openReplicas(database, agent)
    const [a, b] = [await replicas.open(), await replicas.open()]
    const lost = a.proxy.loseAnswer((statement) => /INSERT INTO \S+\.task/.test(statement))
    const asked = begin(a, 'go')
    await lost
    a.proxy.heal()
    const id = await asked
    agent.pass(1)
    await replicas.until(async () => (await stateAt(b, id)) === completed)
    const { result } = await b.wire.ask('ListTasks')
    expect(result.totalSize).toBe(1)
    expect(agent.begun).toHaveLength(1)
  })

  test('a message that was handed over and not answered is taken once', async () => {
    const agent = createStepper(1)
    const replicas = openReplicas(database, agent)
    const [a, b] = [await replicas.open(), await replicas.open()]
    const id = await begin(a, 'go')
    await replicas.until(() => agent.begun.length === 1)
    const lost = b.proxy.loseAnswer((statement) => /INSERT INTO \S+\.inbox/.test(statement))
    const cancelled = b.wire.ask('CancelTask', { id })
    await lost
    b.proxy.heal()
    expect((await cancelled).result?.status.state).toBe('TASK_STATE_CANCELED')
    const records = await a.store.records(id, 0)
    expect(records.filter(({ kind }) => kind === 'cancel')).toHaveLength(1)
  })

  test('a message that is read only after the turn in which it came has ended begins the next turn', async () => {
    const agent = createScriptedAgent()
    const replicas = openReplicas(database, agent)
    const [a, b] = [await replicas.open(), await replicas.open()]
    const id = await begin(a, 'ponder')
    const lost = a.proxy.loseAnswer((statement) => /FROM \S+\.inbox/.test(statement))
    const configuration = { returnImmediately: true }
    const { error } = await b.wire.ask('SendMessage', saying('red', id, { configuration }))
    expect(error).toBeUndefined()
    await lost
    agent.release()
    await replicas.until(async () => (await stateAt(b, id)) === 'TASK_STATE_INPUT_REQUIRED')
    a.proxy.heal()
    await replicas.until(async () => /COMPLETED|FAILED/.test((await stateAt(b, id)) ?? ''))
    expect(await stateAt(b, id)).toBe(completed)
    expect(agent.heard).toEqual(['ponder', 'red'])
  })

  test('a replica that is cut off says so instead of taking in what it cannot keep', async () => {
    const agent = createStepper(1)
    const replicas = openReplicas(database, agent)
    const [a, b] = [await replicas.open({ store: shortLease }), await replicas.open()]
    a.proxy.cut()
    await replicas.until(() => !a.store.feed.mayBegin())
    const { status, body, headers } = await a.wire.ask('SendMessage', saying('go'))
    expect(JSON.stringify(body)).toContain('try again')
    expect(status === 200 || headers['retry-after'] !== undefined).toBe(true)
    a.proxy.heal()
    await replicas.until(() => a.store.feed.mayBegin())
    agent.pass(1)
    const { result } = await a.wire.ask('SendMessage', saying('go'))
    expect(await stateAt(b, result.task.id)).toBe(completed)
  })
})
