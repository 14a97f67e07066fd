import { describe, expect, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { AgentManager } from '../../src/team/manager.ts'
import { defineTeam, Team } from '../../src/team/team.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { member } from '../fixtures/members.ts'

const silentAgent: Agent = {
  info: () => Promise.reject(new Error('no connection')),
  process: () => 'never',
}

describe('the registry', () => {
  test('knows agents by the id they give themselves or by one of ours', async () => {
    const manager = new AgentManager()
    const a = member('a')
    expect(await manager.register(a)).toBe('a')
    manager.registerWithId('b', member('x'))
    expect(manager.get('a')).toBe(a)
    expect(manager.get('x')).toBeUndefined()
    expect(manager.listIds()).toEqual(['a', 'b'])
    expect((await manager.list()).map(({ id }) => id)).toEqual(['a', 'b'])
    expect(manager.count()).toBe(2)
  })

  test('R-W14: refuses a second agent of the same id unless it is meant to replace the first', async () => {
    const manager = new AgentManager()
    await manager.register(member('a'))
    await expect(manager.register(member('a'))).rejects.toThrow('Agent "a" is already registered')
    const other = member('a')
    await manager.register(other, { replace: true })
    expect(manager.get('a')).toBe(other)
  })

  test('refuses an id that cannot be one', () => {
    expect(() => new AgentManager().registerWithId('a b', member('a'))).toThrow(
      '"a b" cannot be the id of an agent',
    )
  })

  test('tells of an agent under its id here, and names an ability once', async () => {
    const manager = new AgentManager()
    manager.registerWithId('here', member('there', undefined, { capabilities: ['a', 'b', 'a'] }))
    expect(await manager.info('here')).toMatchObject({ id: 'here', capabilities: ['a', 'b'] })
  })

  test('refuses an id that is empty', () => {
    expect(() => new AgentManager().registerWithId(' ', member('a'))).toThrow('needs an id')
  })

  test('R-W14: an agent that is down can be registered and listed; it connects to nobody', async () => {
    const manager = new AgentManager()
    manager.registerWithId('down', silentAgent)
    manager.registerWithId('up', member('up'))
    expect(await manager.list()).toMatchObject([
      { id: 'down', name: 'down', capabilities: [], metadata: { unavailable: 'true' } },
      { id: 'up' },
    ])
  })

  test('an agent that does not say who it is in time appears with its id alone', async () => {
    const clock = createFakeClock()
    const manager = new AgentManager({ clock })
    const info = () => new Promise<never>(() => {})
    manager.registerWithId('slow', { info, process: () => 'x' })
    const listed = manager.list()
    await expect.poll(() => clock.pending().length).toBe(1)
    clock.advance(5_000)
    expect(await listed).toMatchObject([{ id: 'slow', metadata: { unavailable: 'true' } }])
  })

  test('finds agents by a part of an ability, whatever the case', async () => {
    const manager = new AgentManager()
    manager.registerWithId('a', member('a', undefined, { capabilities: ['Code_Review'] }))
    manager.registerWithId('b', member('b', undefined, { capabilities: ['writing'] }))
    manager.registerWithId('c', silentAgent)
    const ids = async (text: string) => (await manager.findByCapability(text)).map(({ id }) => id)
    expect(await ids('review')).toEqual(['a'])
    expect(await ids('RI')).toEqual(['b'])
    expect(await ids('cooking')).toEqual([])
    expect((await manager.find(({ name }) => name === 'b agent')).map(({ id }) => id)).toEqual([
      'b',
    ])
  })

  test('forgets agents', async () => {
    const manager = new AgentManager()
    await manager.register(member('a'))
    await manager.register(member('b'))
    expect(manager.remove('a')).toBe(true)
    expect(manager.remove('a')).toBe(false)
    manager.clear()
    expect(manager.count()).toBe(0)
  })

  test('closes every agent, even when one cannot be closed', async () => {
    const manager = new AgentManager()
    const closed: string[] = []
    const closing = (id: string, fails: boolean): Agent => ({
      ...member(id),
      async close() {
        closed.push(id)
        if (fails) throw new Error('stuck')
      },
    })
    manager.registerWithId('a', closing('a', true))
    manager.registerWithId('b', closing('b', false))
    await manager.close()
    await manager.close()
    expect(closed).toEqual(['a', 'b'])
  })

  test('closes the members of a team that was defined with them, also within another', async () => {
    const closed: string[] = []
    const closing = (id: string): Agent => ({
      ...member(id),
      close: async () => void closed.push(id),
    })
    const steps = <Id extends string>(agentId: Id) =>
      ({ type: 'workflow', steps: [{ agentId }] }) as const
    const inner = defineTeam({
      ...{ id: 'inner', name: 'Inner' },
      agents: { a: closing('a') },
      scheduler: steps('a'),
    })
    const agents = { inner, b: closing('b') }
    const outer = defineTeam({ id: 'outer', name: 'Outer', agents, scheduler: steps('inner') })
    await outer.close()
    await outer.close()
    expect(closed).toEqual(['a', 'b'])
  })

  test('leaves a manager that was handed in to whoever made it', async () => {
    const manager = new AgentManager()
    let isClosed = false
    const close = async () => {
      isClosed = true
    }
    manager.registerWithId('a', { ...member('a'), close })
    const scheduler = { type: 'workflow', steps: [{ agentId: 'a' }] } as const
    const config = { id: 't', name: 'T', description: '', agents: [{ agentId: 'a' }], scheduler }
    await new Team(config, manager).close()
    expect(isClosed).toBe(false)
    expect(manager.listIds()).toEqual(['a'])
  })
})

describe('health', () => {
  test('of an agent that took the place of another is asked at once, and holds no timer', async () => {
    const clock = createFakeClock()
    const manager = new AgentManager({ clock })
    const health = async () => ({ healthy: false })
    manager.registerWithId('a', member('a', undefined, { health }))
    expect(await manager.health('a')).toEqual({ healthy: false })
    manager.registerWithId('a', member('a'), { replace: true })
    expect(await manager.health('a')).toEqual({ healthy: true })
    expect(clock.pending()).toEqual([])
  })

  test('is asked again only when the answer is two seconds old', async () => {
    const clock = createFakeClock()
    const manager = new AgentManager({ clock })
    let asked = 0
    const health = async () => ({ healthy: ++asked > 0 })
    manager.registerWithId('a', member('a', undefined, { health }))
    await Promise.all([manager.health('a'), manager.health('a'), manager.healthCheckAll()])
    expect(asked).toBe(1)
    clock.advance(1_999)
    await manager.health('a')
    expect(asked).toBe(1)
    clock.advance(1)
    await manager.health('a')
    expect(asked).toBe(2)
  })

  test('of one that fails or hangs does not keep the others waiting for ever', async () => {
    const clock = createFakeClock()
    const manager = new AgentManager({ clock })
    const fails = () => Promise.reject(new Error('10.0.0.3 refused'))
    manager.registerWithId('fails', member('fails', undefined, { health: fails }))
    const hangs = () => new Promise<never>(() => {})
    manager.registerWithId('hangs', member('hangs', undefined, { health: hangs }))
    manager.registerWithId('well', member('well'))
    const all = manager.healthCheckAll()
    await expect.poll(() => clock.pending().length).toBe(1)
    clock.advance(5_000)
    expect(await all).toEqual({
      fails: { healthy: false, reason: 'the health check failed' },
      hangs: { healthy: false, reason: 'the health check failed' },
      well: { healthy: true },
    })
    expect(await manager.health('nobody')).toEqual({ healthy: false, reason: 'not registered' })
  })
})
