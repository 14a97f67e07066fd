import { setTimeout as sleep } from 'node:timers/promises'
import { textOf } from 'corral'
import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://localhost:3000')
let victim
for await (const event of client.stream('A story')) {
  if ('artifactUpdate' in event) console.log(textOf(event.artifactUpdate.artifact.parts))
  if (!('statusUpdate' in event)) continue
  const { state, message } = event.statusUpdate.status
  const words = message ? textOf(message.parts) : ''
  console.log(state, words)
  if (victim || !words) continue
  victim = Number(/\d+/.exec(words)[0])
  await sleep(1000) // the first step is done, the second has begun
  process.kill(victim, 'SIGKILL')
  console.log(`killed process ${victim}`)
}
await client.close()
