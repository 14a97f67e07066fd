import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDeferred } from '../../../src/shared/async.ts'
import { createServerProcess, type ServerProcess, type ServerSetup } from '../process.ts'
import type { Moments, Point } from './moments.ts'
import { openRoundRobin } from './round-robin.ts'

/** Several server processes on one database, behind one address. */
export interface Fleet {
  readonly replicas: readonly ServerProcess[]
  /** What callers see of it: one server that is always up. `gone` resolves when one of the replicas is struck next. */
  readonly server: Pick<ServerProcess, 'url' | 'up' | 'gone'>
  /** Which replica last began to run a task, by the task's id or by the name of the operation that it came from. */
  runnerOf(task: string): number | undefined
  /** How often a replica found its registration gone, though it lives. */
  lost(): number
  /** Says that a replica is struck now. */
  struck(): void
  close(): Promise<void>
}

/** What a fleet is made of. */
interface FleetOptions {
  readonly count: number
  readonly setup: ServerSetup
  /** Where the replicas' words go. */
  readonly folder: string
  readonly moments: Moments
}

/** Makes a fleet and starts it. */
export async function startFleet({ count, setup, folder, moments }: FleetOptions): Promise<Fleet> {
  const runners = new Map<string, number>()
  let lost = 0
  let nextStrike = createDeferred<void>()
  const replicas = Array.from({ length: count }, (_, replica) =>
    createServerProcess(setup, [], {
      told(message) {
        const { taskId, name, reached } = message as Told // what agents.mjs tells
        if (reached) moments.reached(reached, replica)
        for (const key of [taskId, name]) if (key !== undefined) runners.set(key, replica)
      },
      said(text) {
        lost += text.split('The registration of this replica is lost').length - 1
        appendFileSync(join(folder, `replica-${replica}.log`), text)
      },
    }),
  )
  await Promise.all(replicas.map((replica) => replica.start()))
  const proxy = await openRoundRobin(
    replicas.map(({ url }) => url),
    (replica, body) => {
      if (beginsTask(body)) moments.reached('birth', replica)
    },
  )
  return {
    replicas,
    server: { url: () => proxy.url, up: async () => {}, gone: () => nextStrike.promise },
    runnerOf: (task) => runners.get(task),
    lost: () => lost,
    struck() {
      nextStrike.resolve()
      nextStrike = createDeferred()
    },
    async close() {
      await Promise.all(replicas.map((replica) => replica.kill()))
      await proxy.close()
    },
  }
}

/** What agents.mjs tells: who runs a task, or that a replica is somewhere of interest. */
interface Told {
  readonly taskId?: string
  readonly name?: string
  readonly reached?: Point
}

function beginsTask(body: Buffer): boolean {
  return body.includes('"SendMessage"') && !body.includes('"taskId"')
}
