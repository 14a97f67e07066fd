import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'

/** Serves an agent that ends at once, or never where it is told to stay, over a file where one is named. */

const agent = defineAgent({ name: 'Heavy' }, async (message, turn) => {
  if (textOf(message.parts).startsWith('stay'))
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
  return 'done'
})

const [, , path = ''] = process.argv
const store = path === '' ? undefined : await openSqliteStore(path, { synchronous: 'NORMAL' })
const server = await createServer({
  agents: [agent],
  ...(store && { store }),
  timeouts: { shutdownMs: 0 },
})
const listening = await listen(server, { port: 0, host: '127.0.0.1' })
process.send?.({ url: listening.url })
process.on('message', async () => {
  await listening.close()
  await store?.close()
  process.exit(0)
})
