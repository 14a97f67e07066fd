import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { createConsole } from 'corral/console'
import { createServer, listen } from 'corral/server'

const echo = defineAgent({ name: 'Echo' }, ({ parts }) => `Echo: ${textOf(parts)}`)
const server = await createServer({ agents: [echo], console: createConsole() })
const { url } = await listen(server, { port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
console.log(`Open ${url}/console/`)
