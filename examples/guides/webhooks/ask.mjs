import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://localhost:3000')
const url = process.env.HOOK_URL ?? 'http://localhost:4000/'
const configuration = {
  returnImmediately: true,
  taskPushNotificationConfig: { url, token: 'receiver-secret' },
}
const { task } = await client.sendMessage('Two chairs', { configuration })
console.log(task.status.state)
await client.close()
