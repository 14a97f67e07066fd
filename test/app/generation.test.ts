import { describe, expect, test } from 'vitest'
import type { Agent, AgentReply } from '../../src/agents/agent.ts'
import { Generation } from '../../src/app/watch.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { silent } from '../../src/shared/log.ts'
import { AgentManager } from '../../src/team/manager.ts'
import { member } from '../fixtures/members.ts'
import { createTurn, runTurn } from '../fixtures/turn.ts'

/** A generation of one agent `a`, and a promise of its end. */
function generation(answer: () => AgentReply): Generation & { readonly closed: Promise<void> } {
  const closed = createDeferred<void>()
  const manager = new AgentManager()
  const agent: Agent = { ...member('a', answer), close: async () => closed.resolve() }
  manager.registerWithId('a', agent)
  const roster = { agents: [agent], teams: [], manager, close: () => manager.close() }
  return Object.assign(new Generation(roster, silent), { closed: closed.promise })
}

const ask = (from: Generation) => {
  const agent = from.get('a')
  if (!agent) throw new Error('nobody')
  return runTurn(agent, createTurn('x'))
}

describe('a generation of agents', () => {
  test('is closed at once where no turn runs', async () => {
    const old = generation(() => 'old')
    old.retire(generation(() => 'new'))
    await old.closed
  })

  test.each(['promise', 'events'])('is closed when the last turn of %s has ended', async (kind) => {
    const open = createDeferred<void>()
    const late = async (): Promise<string> => {
      await open.promise
      return 'old'
    }
    async function* events() {
      yield await late()
    }
    const old = generation(kind === 'promise' ? late : events)
    let closed = false
    void old.closed.then(() => {
      closed = true
    })
    const turn = ask(old)
    old.retire(generation(() => 'new'))
    await Promise.resolve()
    expect(closed).toBe(false)
    open.resolve()
    expect(JSON.stringify(await turn)).toContain('old')
    await old.closed
  })

  test('counts a turn that fails as ended', async () => {
    const old = generation(() => {
      throw new Error('no')
    })
    await expect(ask(old)).rejects.toThrow('no')
    old.retire(generation(() => 'new'))
    await old.closed
  })

  test('passes turns that begin after its end on to the next', async () => {
    const old = generation(() => 'old')
    old.retire(generation(() => 'new'))
    await old.closed
    expect(JSON.stringify(await ask(old))).toContain('new')
  })
})
