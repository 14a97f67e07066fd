import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { A2AClient } from 'corral/client'
import { createServer } from 'corral/server'
import { openSqliteStore } from 'corral/store'

const innkeeper = defineAgent({ name: 'Innkeeper' }, async (_message, turn) => {
  // What was said before, the oldest first.
  const [first] = await turn.conversation(20)
  // A value of the conversation: every task and every member of a team sees the same.
  const visit = Number((await turn.context.get('visits')) ?? 0) + 1
  turn.context.set('visits', visit)
  return first ? `Visit ${visit}. You began with "${textOf(first.parts)}".` : 'Welcome!'
})

const store = await openSqliteStore(process.env.STORE ?? 'inn.db')
const server = await createServer({ agents: [innkeeper], store })
const client = new A2AClient({ dispatch: server.dispatch() })
const { text } = await client.send(process.argv[2] ?? 'Good day', { contextId: 'ada' })
console.log(text)
await server.close()
await store.close()
