// #region serve
import { defineAgent } from 'corral/agents'
import { serve } from 'corral/server'

const poet = defineAgent(
  { name: 'Poet', description: 'Writes short verse', abilities: ['poetry'] },
  async function* (_message, turn) {
    yield turn.status('TASK_STATE_WORKING', 'Thinking')
    for (const word of ['Roses ', 'are ', 'red.']) yield word
  },
)

const { url, close } = await serve(poet, { port: 0 })
console.log(`Card: ${url}/.well-known/agent-card.json`)

// #endregion

// #region call
import { A2AClient } from 'corral/client'

const client = new A2AClient(url)
for await (const event of client.stream('A poem, please')) {
  if ('artifactUpdate' in event) console.log(event.artifactUpdate.artifact.parts)
}
// #endregion

await client.close()
await close()
