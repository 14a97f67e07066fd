import { textOf } from 'corral'
import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://localhost:3000')
const configuration = { returnImmediately: true }
const { task } = await client.sendMessage('3 days in Wales', { configuration })
console.log('begun:', task.status.state)
// Keep task.id wherever you like; any process goes on from it, now or tomorrow.
for await (const event of client.follow(task.id)) {
  if ('artifactUpdate' in event) console.log(textOf(event.artifactUpdate.artifact.parts))
}
console.log('done:', (await client.getTask(task.id)).status.state)
await client.close()
