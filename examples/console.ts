/** A server of your own with the console. Run: npx tsx examples/console.ts */

// #region console
import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { createConsole } from 'corral/console'
import { createServer, listen } from 'corral/server'

const echo = defineAgent({ name: 'Echo' }, ({ parts }) => `Echo: ${textOf(parts)}`)
const server = await createServer({ agents: [echo], console: createConsole() })
const { url, close } = await listen(server, {
  port: Number(process.env.PORT ?? 0),
  host: '127.0.0.1',
})
console.log(`Open ${url}/console/`)
// #endregion console

const roster = await fetch(`${url}/console/api/roster`)
console.log(`The console shows ${(await roster.json()).agents[0].name}`)
await close()
