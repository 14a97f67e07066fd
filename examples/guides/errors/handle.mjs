import { A2AError } from 'corral'
import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://127.0.0.1:3000')
try {
  await client.getTask('no-such-task')
} catch (error) {
  if (!(error instanceof A2AError)) throw error
  console.log(error.code) // one of the codes of this page
  console.log(error.message) // for a person
  console.log(error.details.metadata) // plain facts, where there are some
  console.log(error.details.retryAfterSeconds) // when to try again, where the server says
}
await client.close()
