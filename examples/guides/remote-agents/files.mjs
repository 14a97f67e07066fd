import { writeFile } from 'node:fs/promises'
import { answerParts, userMessage } from 'corral'
import { A2AClient } from 'corral/client'

const client = new A2AClient(process.env.AGENT_URL ?? 'http://localhost:3000')
const raw = Buffer.from('One adult, one dog').toString('base64')
const { task } = await client.send(
  userMessage([{ text: '1 day' }, { raw, filename: 'wishes.txt', mediaType: 'text/plain' }]),
)
for (const part of answerParts(task)) {
  if (!('raw' in part)) continue
  await writeFile(part.filename, Buffer.from(part.raw, 'base64'))
  console.log(`${part.filename} (${part.mediaType})`)
}
await client.close()
