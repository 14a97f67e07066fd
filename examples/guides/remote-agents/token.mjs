import { A2AError } from 'corral'
import { A2AClient, bearer } from 'corral/client'

const serverUrl = process.env.AGENCY_URL ?? 'http://localhost:3001'
for (const token of ['guessed', 'agency-secret']) {
  const client = new A2AClient({ serverUrl, auth: bearer(token) })
  try {
    console.log((await client.send('2 days in Wales')).text)
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    console.log(`${error.code}: ${error.message}`)
  }
  await client.close()
}
