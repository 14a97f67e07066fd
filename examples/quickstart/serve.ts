// #region serve
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
const { url, close } = await listen(server, { port: 0, host: '127.0.0.1' })
console.log(`Card: ${url}/.well-known/agent-card.json`)

// #endregion

// #region call
import { A2AClient } from 'corral/client'

const client = new A2AClient(url)
for await (const event of client.sendMessageStream('A poem, please')) {
  if ('artifactUpdate' in event) console.log(event.artifactUpdate.artifact.parts)
}
// #endregion

await client.close()
await close()
