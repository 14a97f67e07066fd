/**
 * Seed 004 as a program: its Python client as plain HTTP calls, then a hundred of them at once, against a team whose
 * member takes its time. Run: npx tsx examples/seeds/004.mts
 */
import { deepEqual, equal } from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { defineTeam, TeamServer } from 'corral/team'

const slow = defineAgent({ name: 'Slow' }, async ({ parts }, turn) => {
  await pause(1_000, undefined, { signal: turn.signal })
  return `${textOf(parts)}, after a second`
})
const team = defineTeam({
  id: 'slow-team',
  name: 'Slow Team',
  agents: { slow },
  scheduler: { type: 'workflow', steps: [{ agentId: 'slow' }] },
})
const server = new TeamServer(team, 0, { host: '127.0.0.1' })
await server.start()

async function post(method: string, params: unknown, id: number): Promise<Answer> {
  const response = await fetch(`${server.url}/rpc`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', method, params, id }),
  })
  return response.json() as Promise<Answer> // what 004 says the server answers with
}

interface Answer {
  readonly jsonrpc: '2.0'
  readonly id: number
  readonly result: {
    readonly agent_id?: string
    readonly message?: { readonly role: string; readonly parts: readonly { text: string }[] }
  }
}

const hello = (text: string): object => ({
  message: { role: 'user', parts: [{ type: 'text', text }] },
})

// The Python client.
const { result } = await post('message/send', hello('Hello'), 1)
console.log(result)
deepEqual(result, {
  message: { role: 'agent', parts: [{ type: 'text', text: 'Hello, after a second' }] },
})

// The curl command.
equal((await post('agent/card', {}, 1)).result.agent_id, 'slow-team')

// A hundred at once: each gets its own answer, as a message.
const answers = await Promise.all(
  Array.from({ length: 100 }, (_, i) => post('message/send', hello(`Request ${i}`), i)),
)
answers.forEach((answer, i) => {
  equal(answer.id, i)
  equal(answer.result.message?.parts[0]?.text, `Request ${i}, after a second`)
})
console.log(`${answers.length} answers, all of them messages`)

await server.shutdown()
