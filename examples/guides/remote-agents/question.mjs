import { answerParts, textOf } from 'corral'
import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://localhost:3000')
const { task: asked } = await client.sendMessage('A trip to Wales')
console.log(asked.status.state, textOf(asked.status.message.parts))
const { id: taskId, contextId } = asked
const { task } = await client.sendMessage('2', { taskId, contextId })
console.log(task.status.state, textOf(answerParts(task)))
await client.close()
