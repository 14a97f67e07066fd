import { createServer, listen } from 'corral/server'
import { fromExecutor } from './from-executor.mjs'
import { executor } from './sdk-executor.mjs'

const poet = fromExecutor({ name: 'Poet', description: 'Writes short verse' }, executor)
const server = await createServer({ agents: [poet] })
const { url } = await listen(server, { port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
console.log(`The poet answers at ${url}`)
