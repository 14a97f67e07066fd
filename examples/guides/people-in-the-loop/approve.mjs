import { answerParts, textOf, userMessage } from 'corral'
import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://127.0.0.1:3000')

const { task } = await client.sendMessage('the bridge is open')
console.log(task.status.state)
console.log(textOf(task.status.message.parts))

const yes = userMessage([{ data: { approved: true } }])
const done = await client.sendMessage(yes, { taskId: task.id, contextId: task.contextId })
console.log(textOf(answerParts(done.task)))
await client.close()
