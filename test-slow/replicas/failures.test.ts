import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Task } from '../../src/protocol/types.ts'
import { createCaller, type Refusal } from '../../test/durability/caller.ts'
import { createServerProcess, type ServerProcess } from '../../test/durability/process.ts'
import { keepSending, working } from '../../test/replicas/load.ts'
import {
  begin,
  openReplicas,
  saying,
  shortLease,
  stateAt,
  stepsOf,
} from '../../test/replicas/scene.ts'
import { createStepper } from '../../test/replicas/stepper.ts'
import { subscribe, textOf } from '../../test/replicas/subscription.ts'
import { newSchemaName } from '../../test/support/postgres.ts'
import { type EngineDatabase, engines, useEngine } from './engines.ts'

const completed = 'TASK_STATE_COMPLETED'

describe.each(engines)('replicas on $engine', (engine) => {
  const database = useEngine(engine)
  const onEngine = test.skipIf(!engine.isThere)

  onEngine.each(['fast', 'immediate'] as const)(
    'have every task that was acknowledged after a restart (%s) under load',
    async (mode) => {
      const replicas = openReplicas(database, working)
      const first = await replicas.open()
      const all = [first, await replicas.open()]
      const loads = all.map((replica) => keepSending(replica))
      const more = async (): Promise<void> => {
        const before = loads.map(({ ids }) => ids.length)
        await replicas.until(() => loads.every(({ ids }, i) => ids.length > (before[i] ?? 0) + 5))
      }
      await more()
      await database.server.restart(mode)
      await more()
      for (const { stop } of loads) await stop()
      for (const id of loads.flatMap(({ ids }) => ids))
        await replicas.until(async () => (await stateAt(first, id)) === completed)
      for (const one of loads.flatMap(({ refusals }) => refusals))
        expect(one).toContain('UNAVAILABLE')
    },
  )

  onEngine('lose the writing connection alone: the same replica goes on', async () => {
    const agent = createStepper(3)
    const replicas = openReplicas(database, agent)
    const [a, b] = [await replicas.open({ store: shortLease }), await replicas.open()]
    const former = a.number
    const id = await begin(a, 'go')
    const watched = await subscribe(b, id)
    agent.pass(1)
    await replicas.until(() => textOf(watched) === '1 ')
    a.proxy.blackhole((statement) => /(?:UPDATE|INSERT INTO) \S+\.task/.test(statement))
    agent.pass(2)
    await watched.ended
    expect(textOf(watched)).toBe('1 2 3 ')
    expect(a.number).toBe(former)
    expect(agent.begun).toHaveLength(3)
  })

  onEngine('one is cut off for more than a lease: another goes on, once', async () => {
    const agent = createStepper(3)
    const replicas = openReplicas(database, agent)
    const [a, b] = [await replicas.open({ store: shortLease }), await replicas.open()]
    const asked = a.wire.ask('SendMessage', saying('go'))
    agent.pass(1)
    await replicas.until(() => agent.begun.length === 2)
    const id = agent.begun[0]?.split('/')[0] ?? ''
    const watched = await subscribe(b, id)
    a.proxy.cut()
    await replicas.until(() => agent.begun.length === 3)
    agent.pass(3)
    await watched.ended
    a.proxy.heal()
    expect((await asked).result?.task.status.state).toBe(completed)
    expect(textOf(watched)).toBe('1 2 3 ')
    expect(await stepsOf(b, id)).toEqual(['step-1', 'step-2', 'step-3'])
    expect(agent.begun.map((key) => key.slice(-1))).toEqual(['1', '2', '2', '3'])
  })

  onEngine(
    'one is blocked for three leases: another goes on, and no finished step runs again',
    async () => {
      const { a, b, traces } = await openProcesses(database)
      const [atA, atB] = [a, b].map((one) => createCaller(() => one.url()))
      if (!atA || !atB) throw new Error('There are two')
      onTestFinished(async () => void (await Promise.all([atA.close(), atB.close()])))
      const sent = await atA.call<{ task: Task }>({
        agent: 'walk',
        method: 'SendMessage',
        params: saying('go', undefined, { configuration: { returnImmediately: true } }),
      })
      const { id } = sent.task
      const legs = async (): Promise<readonly string[]> =>
        [...(await readFile(traces, 'utf8')).matchAll(new RegExp(`${id} (leg\\d+) `, 'g'))].map(
          ([, leg = '']) => leg,
        )
      while ((await legs()).length < 3) await sleep(5)
      a.pause()
      const isEnough = sleep(3 * processLeases.leaseMs)
      const stateOf = async (caller: typeof atA): Promise<string> =>
        (await caller.call<Task>({ agent: 'walk', method: 'GetTask', params: { id } })).status.state
      while ((await stateOf(atB)) !== completed) await sleep(20)
      await isEnough
      a.resume()
      // It says that it has lost the task until it has read it again.
      const seen = (): Promise<string> => stateOf(atA).catch((error: Refusal) => error.message)
      while ((await seen()) !== completed) await sleep(20)
      // The leg that was under way may have run twice, and no other.
      const ran = await legs()
      expect(new Set(ran).size).toBe(12)
      expect(ran.length).toBeLessThanOrEqual(13)
    },
  )
})

const processLeases = { leaseMs: 1_200, beatMs: 300 } as const

async function openProcesses(
  database: EngineDatabase,
): Promise<{ readonly a: ServerProcess; readonly b: ServerProcess; readonly traces: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-blocked-'))
  const traces = join(folder, 'effects.log')
  await writeFile(traces, '')
  const postgres = { url: database.url, schema: newSchemaName(), ...processLeases }
  const open = async (): Promise<ServerProcess> => {
    const server = createServerProcess({ postgres, effects: traces, remote: 'http://127.0.0.1:1' })
    onTestFinished(() => server.kill())
    await server.start()
    return server
  }
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return { a: await open(), b: await open(), traces }
}
