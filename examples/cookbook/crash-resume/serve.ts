/**
 * Serves the orders with a store. Order something (npx corral send), kill the server with -9 while it packs, and start it
 * again: the order goes on, and the ledger has every line once.
 * Run: PACKING_MS=20000 npx tsx --import ./scripts/threads.mjs examples/cookbook/crash-resume/serve.ts
 */
import { openSqliteStore } from 'corral/store'
import { TeamServer } from 'corral/team'
import { createTeam } from './team.ts'

const { PORT = '3000', STORE = 'tasks.db' } = process.env
const store = await openSqliteStore(STORE)
const server = new TeamServer(createTeam(), Number(PORT), { host: '127.0.0.1', store })
await server.start()
console.log(`Orders are taken at ${server.url}`)
