import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { openModelServer } from 'corral/testing'

/** A model service that asks the real one the first time, and ever after answers from a file. */
export function openRecorded(file, service) {
  const answers = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  return openModelServer(async ({ stream: _, stream_options: __, ...request }) => {
    const key = createHash('sha256').update(JSON.stringify(request)).digest('hex')
    answers[key] ??= await ask(service, request)
    writeFileSync(file, JSON.stringify(answers, null, 2))
    return answers[key]
  })
}

async function ask({ endpoint, apiKey }, request) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` }
  const body = JSON.stringify(request)
  const reply = await fetch(`${endpoint}/chat/completions`, { method: 'POST', headers, body })
  if (!reply.ok) throw new Error(`The model service answers ${reply.status}`)
  const { message } = (await reply.json()).choices[0]
  const tools = message.tool_calls?.map(({ id, function: { name, arguments: args } }) => ({
    id,
    name,
    arguments: args,
  }))
  return tools?.length ? { tools } : message.content
}
