import { appendFileSync } from 'node:fs'
import { openSqliteStore } from 'corral/store'
import { defineWorkflow, TeamServer } from 'corral/team'

const { LEDGER = 'ledger.txt', STORE = 'tasks.db', PORT = '3000', HOLD } = process.env

function enter(line) {
  appendFileSync(LEDGER, `${line}\n`)
  console.log(line)
  return line
}

const orders = defineWorkflow({
  id: 'orders',
  name: 'Orders',
  agents: {
    charge: () => enter('charged'),
    async pack() {
      enter('packing')
      if (HOLD) await new Promise(() => {}) // for ever: it will be killed here
      return enter('packed')
    },
  },
  steps: (flow) => flow.step('charge', { agentId: 'charge' }).step('pack', { agentId: 'pack' }),
})
const store = await openSqliteStore(STORE)
const server = new TeamServer(orders, Number(PORT), { host: '127.0.0.1', store })
await server.start()
console.log(`Orders are taken at ${server.url}`)
