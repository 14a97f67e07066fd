/** Serves a team of the cookbook, with the console; STORE=tasks.db keeps its tasks. Run: npx tsx examples/cookbook/serve.ts map-reduce */
import { readdir } from 'node:fs/promises'
import { openSqliteStore } from 'corral/store'
import { TeamServer } from 'corral/team'

const [name = ''] = process.argv.slice(2)
const entries = await readdir(import.meta.dirname, { withFileTypes: true })
const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
if (!names.includes(name)) throw new Error(`Say which of these: ${names.sort().join(', ')}`)
const { team } = await import(`./${name}/team.ts`)
const { PORT = '3000', STORE } = process.env
const server = new TeamServer(team, Number(PORT), {
  host: '127.0.0.1',
  console: true,
  ...(STORE && { store: await openSqliteStore(STORE) }),
})
await server.start()
console.log(`${name} answers at ${server.url}; talk to it: npx corral chat ${server.url}`)
