import { clientRoutingExtension, textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { defineTeam, runTeam } from 'corral/team'

const billing = () => 'The bill is paid.'
const shipping = () => 'The parcel comes tomorrow.'

/** Delegates by its answer: JSON that names members goes to them, everything else to the user. */
function lead({ parts }) {
  const [words] = textOf(parts).split('\n\n<team>') // behind it the team says who its members are
  if (words.includes(' answered:\n')) return words
  const ask = (agent_id, message) => ({ agent_id, message })
  return JSON.stringify({ delegate: [ask('billing', 'Paid?'), ask('shipping', 'Where is it?')] })
}

export const shop = defineTeam({
  id: 'shop',
  name: 'Shop',
  agents: { lead, billing, shipping },
  scheduler: { type: 'supervisor', supervisorAgentId: 'lead', maxRounds: 5 },
})

/** Routes by the metadata of its answer, as the extension says that it declares. */
const desk = defineAgent(
  { name: 'Desk', extensions: [{ uri: clientRoutingExtension }] },
  ({ parts }, turn) => {
    const recipient = /bill|pay/i.test(textOf(parts)) ? 'billing' : 'shipping'
    const routing = { recipient, reason: 'by its words', takesOver: true }
    return { ...turn.reply(''), metadata: { [clientRoutingExtension]: routing } }
  },
)

export const counter = defineTeam({
  id: 'counter',
  name: 'Counter',
  agents: { desk, billing, shipping },
  scheduler: { type: 'router', defaultAgentId: 'desk', maxRoutingHops: 5 },
})

for (const team of [shop, counter]) {
  const { text, delegations } = await runTeam(team, 'Where is my parcel?')
  console.log(`${delegations.map(({ member }) => member).join(' → ')}: ${text.trim()}`)
}
