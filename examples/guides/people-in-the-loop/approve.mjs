import { userMessage } from 'corral'
import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://127.0.0.1:3000')

const { task, text } = await client.send('the bridge is open')
console.log(task.status.state)
console.log(text)

const yes = userMessage([{ data: { approved: true } }])
const done = await client.send(yes, { taskId: task.id, contextId: task.contextId })
console.log(done.text)
await client.close()
