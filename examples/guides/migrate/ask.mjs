import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://127.0.0.1:3000')
for await (const event of client.stream('A poem, please')) {
  if ('statusUpdate' in event) console.log(event.statusUpdate.status.state)
  if ('artifactUpdate' in event) console.log(event.artifactUpdate.artifact.parts[0]?.text)
}
await client.close()
