import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://localhost:3000')
console.log(await client.run('2 days in Wales'))
await client.close()
