import { defineAgent } from 'corral/agents'
import { serve } from 'corral/server'

const poet = defineAgent(
  { name: 'Poet', description: 'Writes short verse', abilities: ['poetry'] },
  async function* (_message, turn) {
    yield turn.status('TASK_STATE_WORKING', 'Thinking')
    for (const word of ['Roses ', 'are ', 'red.']) yield word
  },
)

const { url } = await serve(poet, { port: Number(process.env.PORT ?? 3000) })
console.log(`The poet answers at ${url}`)
