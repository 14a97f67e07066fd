/** The client of ask.mjs with @a2a-js/sdk 1.3. */

// #region client
import { SendMessageRequest, TaskState } from '@a2a-js/sdk'
import { ClientFactory } from '@a2a-js/sdk/client'

const url = process.env.AGENT_URL ?? 'http://127.0.0.1:3000'
const client = await new ClientFactory().createFromUrl(url)
const parts = [{ text: 'A poem, please' }]
const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts }
for await (const { payload } of client.sendMessageStream(
  SendMessageRequest.fromJSON({ message }),
)) {
  if (payload?.$case === 'statusUpdate') console.log(TaskState[payload.value.status.state])
  if (payload?.$case === 'artifactUpdate')
    console.log(payload.value.artifact.parts[0].content.value)
}
// #endregion
