import { rm, writeFile } from 'node:fs/promises'
import type { Cell } from './cell.ts'
import { type Installed, makeTables } from './place.ts'
import { fresh, type Side, start } from './side.ts'
import { at, begin, getTask, until } from './wire.ts'

/** Kills a server while a task runs, starts it again, and says what became of the task. */
export const durableCell: Cell = {
  name: 'kill',
  question: 'kill -9 while a task runs, then a new start: what becomes of the task?',
  how: 'the task is killed between two chunks; then it is asked for during five seconds',
  async run(place) {
    const file = fresh(place, 'peer.db')
    await makeTables(place, file)
    const [memory, database] = [await killed(place, 'peer'), await killed(place, 'peer', file)]
    return {
      corral: `SQLite: ${await killed(place, 'corral', fresh(place, 'corral.db'))}`,
      peer: `InMemoryTaskStore: ${memory}; DatabaseTaskStore on SQLite: ${database}`,
    }
  },
}

async function killed(place: Installed, side: Side, store?: string): Promise<string> {
  const hold = fresh(place, 'hold')
  await writeFile(hold, '')
  const env = { HOLD: hold, ...(store !== undefined && { STORE: store }) }
  const first = await start(place, side, env)
  const id = await begin(first.url, 'hold')
  const isUnderWay = async () => JSON.stringify(await getTask(first.url, id)).includes('one;')
  if (!(await until(isUnderWay, 5))) throw new Error(`${side}: the task does not begin`)
  await first.kill()
  await rm(hold)
  const second = await start(place, side, env)
  const isOver = async () => stateOf(await getTask(second.url, id)) === 'TASK_STATE_COMPLETED'
  await until(isOver, 5)
  const task = await getTask(second.url, id)
  await second.kill()
  const said = JSON.stringify(task)
  const chunks = ['one;', 'two;'].filter((chunk) => said.includes(chunk))
  return `${stateOf(task)}${chunks.length === 2 ? ', both chunks there' : ''}`
}

function stateOf(answer: unknown): string {
  const state = at(answer, 'result', 'status', 'state')
  // Without the id, which is another one each time.
  return String(state ?? at(answer, 'error', 'message')).replace(/: [\w-]+$/, '')
}
