import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { traceExtension } from '../../src/protocol/extensions.ts'
import { answerParts, textOf, userMessage } from '../../src/protocol/task.ts'
import { createServer, type Server } from '../../src/server/index.ts'
import { openSqliteStore } from '../../src/store/index.ts'
import { defineScheduler } from '../../src/team/schedulers/scheduler.ts'
import { defineTeam } from '../../src/team/team.ts'
import { member, untilCancelled } from '../fixtures/members.ts'
import { remote, serve, taskOf, teamOf } from './scene.ts'

let directory = ''

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'corral-'))
})

afterEach(async () => {
  await rm(directory, { recursive: true })
})

async function open(agent: Agent): Promise<Server & { shut(): Promise<void> }> {
  const store = await openSqliteStore(join(directory, 'tasks.db'))
  const server = await createServer({ agents: [agent], store, timeouts: { shutdownMs: 0 } })
  return {
    ...server,
    async shut() {
      await server.close()
      await store.close()
    },
  }
}

async function begin(server: Server): Promise<string> {
  const configuration = { returnImmediately: true }
  const request = { message: userMessage('x'), configuration }
  return taskOf(await server.dispatch()('SendMessage', request, {})).id
}

async function finished(server: Server, id: string): Promise<string> {
  const read = () => server.dispatch()('GetTask', { id }, { extensions: [traceExtension] })
  await expect.poll(async () => (await read()).status.state).toBe('TASK_STATE_COMPLETED')
  return textOf(answerParts(await read()))
}

test('a nested team in a file is stopped in the middle, reopened, and goes on where it was', async () => {
  const [first, last] = [member('first'), member('last')]
  let awake = false
  const sleeper = member('sleeper', (text, turn) =>
    awake ? `sleeper(${text})` : untilCancelled(turn),
  )
  const make = () => teamOf({ first, inner: teamOf({ sleeper }, 'inner'), last })
  const before = await open(make())
  const id = await begin(before)
  await expect.poll(() => sleeper.turns.length).toBe(1)
  await before.shut()

  awake = true
  const after = await open(make())
  expect(await after.recover()).toEqual({ resumed: 1, failed: 0 })
  expect(await finished(after, id)).toBe('last(sleeper(first(x)))')
  expect(first.asked).toEqual(['x'])
  expect(last.asked).toEqual(['sleeper(first(x))'])
  await after.shut()
})

test('a scheduler of one’s own decides once, though the server stops after the decision', async () => {
  let decisions = 0
  let awake = false
  const first = member('first')
  const sleeper = member('sleeper', (text, turn) =>
    awake ? `sleeper(${text})` : untilCancelled(turn),
  )
  const drawing = defineScheduler<null>({
    type: 'drawing',
    create: () => ({
      async schedule(run) {
        await run.ask('first', run.message)
        const lot = await run.decide(() => ++decisions)
        return run.ask('sleeper', `lot ${lot}`)
      },
    }),
  })
  const agents = { first, sleeper }
  const make = () => defineTeam({ id: 'team', name: 'Team', agents, scheduler: drawing(null) })
  const before = await open(make())
  const id = await begin(before)
  await expect.poll(() => sleeper.turns.length).toBe(1)
  await before.shut()

  awake = true
  const after = await open(make())
  await after.recover()
  expect(await finished(after, id)).toBe('sleeper(lot 1)')
  expect(first.asked).toEqual(['x'])
  expect(decisions).toBe(1)
  await after.shut()
})

test('a remote member keeps its task over our restart and is not asked twice', async () => {
  let release = (): void => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const worker = member('worker', async function* (text, turn) {
    yield turn.status('TASK_STATE_WORKING', 'at it')
    await gate
    yield `worker(${text})`
  })
  const far = await serve(teamOf({ worker }, 'far'))
  const before = await open(teamOf({ far: remote(far, 'far') }))
  const id = await begin(before)
  await expect.poll(() => worker.turns.length).toBe(1)
  const heard = async () =>
    (await before.dispatch()('GetTask', { id }, {})).status.message !== undefined
  await expect.poll(heard).toBe(true)
  await before.shut()

  const after = await open(teamOf({ far: remote(far, 'far') }))
  await after.recover()
  release()
  expect(await finished(after, id)).toBe('worker(x)')
  expect(worker.asked).toEqual(['x'])
  await after.shut()
})
