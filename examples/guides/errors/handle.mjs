import { A2AError } from 'corral'
import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://127.0.0.1:3000')

async function tryIt(call) {
  try {
    await call()
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    console.log(error.code) // one of the codes of this page
    console.log(error.message) // for a person
    console.log(error.details) // facts, fields at fault, when to try again
  }
}

await tryIt(() => client.send('Tell me everything that you know'))
await tryIt(() => client.getTask('no-such-task'))
await client.close()
