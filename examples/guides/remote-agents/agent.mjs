import { setTimeout as sleep } from 'node:timers/promises'
import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { serve } from 'corral/server'

const desk = defineAgent(
  { name: 'Travel Desk', description: 'Plans a trip, day by day' },
  async function* ({ parts }, turn) {
    const days = Number(/\d+/.exec(textOf(parts))?.[0])
    if (!days) {
      yield turn.ask('How many days?')
      return
    }
    for (let day = 1; day <= days; day++) {
      yield `Day ${day}: ${['the coast', 'the hills', 'a castle'][day % 3]}. `
      await sleep(100)
    }
    const files = parts.filter((part) => 'raw' in part)
    for (const { raw } of files) yield { raw, filename: 'ticket.txt', mediaType: 'text/plain' }
  },
)

const { url } = await serve(desk, { port: Number(process.env.PORT ?? 3000) })
console.log(`${url}/.well-known/agent-card.json`)
