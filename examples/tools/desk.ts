/** A model whose tool moves money, and asks first. Offline: the model is scripted. Run: npx tsx examples/tools/desk.ts */

// #region tool
import { defineTool, OpenAIAgent } from 'corral/agents'
import { z } from 'zod'

const refund = defineTool({
  name: 'refund',
  description: 'Pays the money for an order back',
  input: z.object({ order: z.string(), amount: z.number().positive() }),
  output: z.object({ paid: z.number() }),
  approval: ({ amount }) => amount > 20,
  async execute({ order, amount }, { key }) {
    await bank.pay(order, amount, { idempotencyKey: key })
    return { paid: amount }
  },
})

// #endregion tool

import { textOf } from 'corral'
import { A2AClient } from 'corral/client'
import { createServer, listen } from 'corral/server'
import { openModelServer } from 'corral/testing'

const bank = {
  async pay(order: string, amount: number, { idempotencyKey }: { idempotencyKey: string }) {
    console.log(`The bank pays ${amount} for ${order} (${idempotencyKey.split(':')[0]}…)`)
  },
}

const service = await openModelServer([
  {
    text: 'I will pay it back. ',
    tools: [{ name: 'refund', arguments: { order: 'A1', amount: 30 } }],
  },
  'Your money is on its way.',
])
// #region agent
const desk = new OpenAIAgent({
  id: 'desk',
  name: 'Desk',
  endpoint: service.url,
  apiKey: 'none',
  model: 'any',
  tools: [refund],
})
// #endregion agent
const server = await createServer({ agents: [desk], logger: false })
const { url, close } = await listen(server, { port: 0, host: '127.0.0.1', logger: false })

const client = new A2AClient(url)
// #region ask
const asked = await client.sendMessage('My order A1 never came')
if ('task' in asked) {
  console.log(textOf(asked.task.status.message?.parts ?? []))
  console.log(await client.run('yes', { taskId: asked.task.id }))
}
// #endregion ask
await client.close()
await close()
await desk.close()
await service.close()
