import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://localhost:3000')
const question = await client.send('A trip to Wales')
console.log(question.task.status.state, question.text)
const { id: taskId, contextId } = question.task
const answer = await client.send('2', { taskId, contextId })
console.log(answer.task.status.state, answer.text)
await client.close()
