/**
 * A team that goes on after a crash. Serve it with a store, order something, kill the server with -9 while it packs, and
 * start it again: the ledger has every line once. STORE=tasks.db npx tsx --import ./scripts/threads.mjs examples/cookbook/serve.ts crash-resume
 */
import { defineTeam } from 'corral/team'
import charge from './agents/charge.ts'
import pack from './agents/pack.ts'
import ship from './agents/ship.ts'

export const team = defineTeam({
  id: 'orders',
  name: 'Orders',
  description: 'Charges, packs and ships',
  agents: { charge, pack, ship },
  scheduler: {
    type: 'workflow',
    steps: [{ agentId: 'charge' }, { agentId: 'pack' }, { agentId: 'ship' }],
  },
})
