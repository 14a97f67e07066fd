import { defineAgent } from '../../src/agents/function.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'

/**
 * Serves an agent that produces forty megabytes, and tells its parent how much memory that took.
 * The tasks are in a file: what grows here is what the server holds for its readers.
 */

const events = 600
const line = 'x'.repeat(64 * 1024)

/** What is held once the collector has had its way: buffers are given back some time after what held them. */
async function memory(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < 10; i++) {
    await new Promise(setImmediate)
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    least = Math.min(least, heapUsed + external)
  }
  return least
}

const agent = defineAgent({ name: 'flood' }, async function* (_message, turn) {
  for (let i = 0; i < events; i++) {
    if (i % 100 === 0) await new Promise(setImmediate)
    // Each replaces the one before, so that the task itself stays small.
    yield turn.artifact({ artifactId: 'a', parts: [{ text: `${i} ${line}` }] })
  }
  // What is on its way to the file is held for nobody who reads.
  const last = `"${events - 1} x`
  while (!JSON.stringify(await store.records(turn.taskId, events)).includes(last))
    await new Promise(setImmediate)
  process.send?.({ produced: events, memory: await memory() })
})

const store = await openSqliteStore(process.argv[2] ?? '', { synchronous: 'NORMAL' })
const limits = { maxTaskBytes: 64 * 1024 * 1024 }
const server = await createServer({ agents: [agent], store, limits })
const listening = await listen(server, { port: 0, host: '127.0.0.1' })
process.send?.({ port: listening.port, memory: await memory() })
process.on('message', async () => {
  await listening.close()
  await store.close()
  process.exit(0)
})
