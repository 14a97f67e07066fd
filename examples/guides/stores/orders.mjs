import { answerParts, textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { A2AClient } from 'corral/client'
import { createServer } from 'corral/server'
import { openSqliteStore } from 'corral/store'

const dies = process.argv.includes('crash')

const orders = defineAgent({ name: 'Orders', resumable: true }, async (_message, turn) => {
  const receipt = await turn.step('charge', () => {
    console.log('charging the card')
    return 'receipt 4711'
  })
  if (dies) process.exit(1)
  return turn.step('ship', () => `shipped against ${receipt}`)
})

const store = await openSqliteStore('orders.db')
const server = await createServer({ agents: [orders], store })
const { resumed } = await server.recover() // takes up what an earlier process left
console.log(`taken up: ${resumed}`)

const client = new A2AClient({ dispatch: server.dispatch() }) // a client in the same process
if (dies) await client.send('Two chairs')
const { tasks } = await client.listTasks()
for (const { id } of tasks) {
  const task = await client.pollUntilComplete(id, { intervalMs: 100 })
  console.log(task.status.state, textOf(answerParts(task)))
}
await server.close()
await store.close()
