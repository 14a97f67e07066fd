import { describe, expect, onTestFinished, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { answerText, connect, remote, teamOf } from './scene.ts'

const leaf = defineAgent({ name: 'Leaf', id: 'leaf' }, ({ parts }, turn) =>
  turn.reply(`leaf(${textOf(parts)})`),
)

/** An agent that is known only once its server listens. */
function later(id: string): { readonly agent: Agent; become(agent: Agent): void } {
  let real: Agent | undefined
  const known = (): Agent => {
    if (!real) throw new Error(`${id} is not there yet`)
    return real
  }
  return {
    agent: {
      info: () => ({ id, name: id, description: '', capabilities: [], metadata: {} }),
      process: (message, turn) => known().process(message, turn),
      resumable: true,
    },
    become(agent) {
      real = agent
    },
  }
}

async function serve(agents: readonly Agent[]): Promise<string> {
  const server = await createServer({ agents: [...agents], concurrency: 4 })
  const { url, close } = await listen(server, { port: 0, host: '127.0.0.1' })
  onTestFinished(() => close())
  return url
}

async function sendAll(url: string, count: number): Promise<readonly string[]> {
  const client = connect(url)
  const sends = Array.from({ length: count }, (_, i) => client.sendMessage(`${i}`))
  return (await Promise.all(sends)).map(answerText)
}

const expected = (count: number) => Array.from({ length: count }, (_, i) => `leaf(${i})`)

describe('many more messages at once than slots are all answered', () => {
  test('by a team whose member is served by the same server', async () => {
    const member = later('member')
    const url = await serve([teamOf({ member: member.agent }), leaf])
    member.become(remote(`${url}/agents/leaf`))
    expect(await sendAll(url, 100)).toEqual(expected(100))
  })

  test('by two servers whose teams call each other', async () => {
    const [aOuter, aInner, bOuter, bInner] = ['a1', 'a2', 'b1', 'b2'].map(later)
    if (!aOuter || !aInner || !bOuter || !bInner) throw new Error('four were made')
    const teams = (outer: Agent, inner: Agent) => [
      teamOf({ far: outer }, 'outer'),
      teamOf({ far: inner }, 'inner'),
      leaf,
    ]
    const a = await serve(teams(aOuter.agent, aInner.agent))
    const b = await serve(teams(bOuter.agent, bInner.agent))
    aOuter.become(remote(`${b}/agents/inner`))
    aInner.become(remote(`${b}/agents/leaf`))
    bOuter.become(remote(`${a}/agents/inner`))
    bInner.become(remote(`${a}/agents/leaf`))
    const [atA, atB] = await Promise.all([sendAll(a, 50), sendAll(b, 50)])
    expect(atA).toEqual(expected(50))
    expect(atB).toEqual(expected(50))
  })
})
