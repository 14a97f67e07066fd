import { textOf } from 'corral'
import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://localhost:3000')
for await (const event of client.stream('3 days in Wales')) {
  if ('task' in event) console.log('task', event.task.status.state)
  if ('artifactUpdate' in event) console.log(textOf(event.artifactUpdate.artifact.parts))
  if ('statusUpdate' in event) console.log('status', event.statusUpdate.status.state)
}
await client.close()
