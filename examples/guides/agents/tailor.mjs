import { appendFile } from 'node:fs/promises'
import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'

export default defineAgent(
  { name: 'Tailor', description: 'Makes clothes', abilities: ['tailoring'], resumable: true },
  async function* ({ parts }, turn) {
    // A question ends the turn. The answer is the next message of the same task.
    if (!turn.task) {
      await turn.save('wish', textOf(parts))
      yield turn.ask('Which colour?')
      return
    }
    const order = { wish: turn.load('wish'), colour: textOf(parts) }

    // Progress, for whoever streams.
    yield turn.status('TASK_STATE_WORKING', 'Cutting the cloth')

    // A durable step: a turn that runs again after a crash gets the result without the work.
    const number = await turn.step('book', () => book(order, turn.stepKey('book')))

    // Words and data are chunks of the artifact `response`.
    yield `Order ${number} is ready: `
    yield { data: order }

    // A file, as an artifact of its own.
    const raw = Buffer.from(`${order.colour} ${order.wish}, paid`).toString('base64')
    const file = { raw, filename: 'receipt.txt', mediaType: 'text/plain' }
    yield turn.artifact({ artifactId: 'receipt', name: 'receipt', parts: [file] })
  },
)

/** Writes the order down. The key is the same at every attempt, so a double entry can be told. */
async function book(order, key) {
  await appendFile('orders.txt', `${JSON.stringify({ key, ...order })}\n`)
  return 1
}
