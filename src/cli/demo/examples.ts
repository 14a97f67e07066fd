import { A2AClient } from '../../client/index.ts'
import type { Task } from '../../index.ts'
import { createServer, type Server } from '../../server/index.ts'
import { systemClock } from '../../shared/clock.ts'
import { createMemoryStore, type Store } from '../../store/index.ts'
import { createFakeClock, type FakeClock } from '../../testing/index.ts'
import { createStudio, wishes } from './studio.ts'

/** Runs that a first look at the demo finds: what was asked, and what the user said to the question, if anything. */
const runs: readonly (readonly [wish: string, verdict?: 'yes' | 'no'])[] = [
  [wishes[1], 'yes'],
  [wishes[2], 'no'],
  [wishes[3], 'yes'],
  ['A card about a bakery at four in the morning'],
]

/** How long ago the first of them began, and how long after one the next. */
const agoMs = 40 * 60_000
const apartMs = 8 * 60_000

/**
 * Puts finished and waiting runs of the studio into a store that has none. They are real runs, made on a clock that goes
 * as fast as it is asked, with their whole logs.
 */
export async function addExamples(store: Store): Promise<void> {
  const clock = createFakeClock(systemClock.now() - agoMs)
  const stop = letPass(clock)
  const drafts = createMemoryStore()
  const server = await createServer({
    agents: [createStudio(clock)],
    store: drafts,
    clock,
    logger: false,
  })
  try {
    for (const [wish, verdict] of runs) {
      const { id } = await say(server, wish)
      if (verdict !== undefined) await say(server, verdict, id)
      await copy(id, drafts, store)
      clock.advance(apartMs)
    }
  } finally {
    stop()
    await server.close()
    await drafts.close()
  }
}

/** Lets time go by in small steps, each once everything that was due is done. */
function letPass(clock: FakeClock): () => void {
  let next = setImmediate(step)
  function step(): void {
    clock.advance(stepMs)
    next = setImmediate(step)
  }
  return () => clearImmediate(next)
}

const stepMs = 20

/** Lets the studio begin a card, so that somebody is at work when the page is opened. */
export async function beginExample(server: Server): Promise<void> {
  await toStudio(server).sendMessage(wishes[0], { configuration: { returnImmediately: true } })
}

async function say(server: Server, text: string, taskId?: string): Promise<Task> {
  const continued = taskId === undefined ? {} : { taskId }
  const answer = await toStudio(server).sendMessage(text, continued)
  if ('task' in answer) return answer.task
  throw new Error('The studio has answered without a task')
}

function toStudio(server: Server): A2AClient {
  return new A2AClient({ dispatch: server.dispatch('studio') })
}

async function copy(id: string, from: Store, to: Store): Promise<void> {
  const stored = await from.get(id)
  const records = await from.records(id, 0)
  if (!stored) return
  const { head, task } = stored
  await to.commit([{ type: 'task', head, expectedVersion: 0, records, task }])
}
