import { defineAgent } from '../../src/agents/function.ts'
import type { TurnAnswer } from '../../src/engine/queued-messages.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { Task } from '../../src/protocol/types.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { ask, begin, createEngineFor, message, taskOf } from './scene.ts'

/** Lets tasks wait behind the only slot, and tells its parent how much memory that took and what came of them. */

const tasks = 16

function memory(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

let free: () => void = () => {}
const freed = new Promise<void>((resolve) => {
  free = resolve
})
const agent = defineAgent({ name: 'slow' }, async function* (sent, turn) {
  const text = textOf(sent.parts)
  if (text === 'block') await freed
  else if (turn.number === 1 && text.startsWith('ask')) return yield turn.ask('more?')
  yield String(text.length + turn.history.reduce((sum, { parts }) => sum + textOf(parts).length, 0))
})

const store = await openSqliteStore(process.argv[2] ?? '', { synchronous: 'NORMAL' })
const { engine, scope } = createEngineFor(agent, { store, slots: 1 })

/** A text that shares no memory with another. */
function large(): string {
  return Buffer.alloc(1024 * 1024, 'x').toString('latin1')
}

async function submit(text: string, taskId?: string): Promise<TurnAnswer> {
  const sent = await engine.send(message(text, taskId ? { taskId } : {}), {})
  const { id } = await sent.task()
  waiting.push(id)
  return sent.answer
}

const waiting: string[] = []
const asked: Task[] = []
for (let i = 0; i < tasks; i++) asked.push(taskOf(await ask(engine, `ask ${large()}`)))
const ids = asked.splice(0).map(({ id }) => id)
await begin(engine, 'block')
const before = memory()
const answers: TurnAnswer[] = []
for (const id of ids) answers.push(await submit(large()), await submit('go on', id))
// What was just told is let go of in the ticks that follow.
for (let i = 0; i < 5; i++) await new Promise(setImmediate)
const after = memory()
const states: string[] = []
for (const id of waiting) states.push((await engine.get(id, scope)).status.state)
free()
const texts: string[] = []
for (const answer of answers)
  texts.push(textOf(taskOf(await answer.wait()).artifacts?.at(-1)?.parts ?? []))
process.send?.({ grown: after - before, states: [...new Set(states)], texts })
await engine.close(0)
await store.close()
