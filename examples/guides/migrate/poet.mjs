import { defineAgent } from 'corral/agents'
import { createServer, listen } from 'corral/server'

const poet = defineAgent(
  { name: 'Poet', description: 'Writes short verse', abilities: ['poetry'] },
  async function* (_message, turn) {
    yield turn.status('TASK_STATE_WORKING', 'Thinking')
    for (const word of ['Roses ', 'are ', 'red.']) yield word
  },
)

const server = await createServer({ agents: [poet] })
const { url } = await listen(server, { port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
console.log(`The poet answers at ${url}`)
