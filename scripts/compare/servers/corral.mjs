/** Corral's side of the comparison: the agent of peer.mjs, served as its guides say. */
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { createServer, listen } from 'corral/server'
import { openSqliteStore } from 'corral/store'

const { PORT = '0', STORE, HOLD = '', WEBHOOKS_TO } = process.env

const agent = defineAgent(
  { name: 'Compared', description: 'Compared', resumable: true },
  async function* (message, turn) {
    const words = textOf(message.parts)
    const chunks = Number(/^stream (\d+)/.exec(words)?.[1] ?? 0)
    for (let n = 0; n < chunks; n++) {
      yield `chunk ${n};`
      await setTimeout(20)
    }
    if (words === 'hold') {
      yield await turn.step('one', () => 'one;')
      while (existsSync(HOLD)) await setTimeout(50)
      yield 'two;'
    } else if (chunks === 0) yield `Echo: ${words.slice(0, 100)}`
  },
)

const server = await createServer({
  agents: [agent],
  pushNotifications: WEBHOOKS_TO ? { guard: { allow: [WEBHOOKS_TO], allowHttp: true } } : true,
  ...(STORE && { store: await openSqliteStore(STORE) }),
})
const { url } = await listen(server, { port: Number(PORT), host: '127.0.0.1' })
await server.recover()
console.log(`listens at ${url}`)
