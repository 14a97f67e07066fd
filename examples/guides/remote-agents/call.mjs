import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://localhost:3000')
const { text } = await client.send('2 days in Wales')
console.log(text)
await client.close()
