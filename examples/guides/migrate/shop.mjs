import { defineTool, OpenAIAgent } from 'corral/agents'
import { defineTeam, runTeam } from 'corral/team'
import { z } from 'zod'
import { close, service } from './model.mjs'

const findParcel = defineTool({
  name: 'find_parcel',
  description: 'Says where a parcel is',
  input: z.object({ number: z.string() }),
  execute: ({ number }) => `number ${number} is in Kiel`,
})
const triage = new OpenAIAgent({
  ...service,
  id: 'triage',
  name: 'Triage',
  systemPrompt: 'You find out what a customer wants.',
})
const shipping = new OpenAIAgent({
  ...service,
  id: 'shipping',
  name: 'Shipping',
  description: 'knows where parcels are',
  systemPrompt: 'You find parcels.',
  tools: [findParcel],
})
export const shop = defineTeam({
  id: 'shop',
  name: 'Shop',
  agents: { triage, shipping },
  scheduler: { type: 'router', defaultAgentId: 'triage' },
})

const run = await runTeam(shop, 'Where is parcel 7?')
console.log(run.delegations.map(({ member }) => member).join(' → '))
console.log(run.text)
await close()
