import { describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { explore, type Scenario } from './explorer/explorer.ts'
import { scripted } from './explorer/members.ts'
import { dataScenarios, scenarios } from './explorer/scenarios.ts'

const openMemory = async () => createMemoryStore()
const named = (all: readonly Scenario[]) =>
  all.map((scenario) => [scenario.name, scenario] as const)

describe('a process that dies around a commit changes nothing that anybody notices', () => {
  // Here around every second commit, of those with much data around every sixth. Around each: test-slow.
  test.each(named(scenarios))('%s', async (_name, scenario) => {
    const { points, wrong } = await explore(scenario, openMemory, 2)
    expect(points).toBeGreaterThan(2)
    expect(wrong).toEqual([])
  })

  test.each(named(dataScenarios))('%s', async (_name, scenario) => {
    const { points, wrong } = await explore(scenario, openMemory, 6)
    expect(points).toBeGreaterThan(1)
    expect(wrong).toEqual([])
  })
})

describe('the explorer finds', () => {
  const talk: Scenario['talk'] = (user) => user.say('go')
  const exploreAgent = (answer: Parameters<typeof scripted>[2]) =>
    explore({ name: 'x', agents: (p) => [scripted(p, 'x', answer)], talk }, openMemory)

  test('a call that is made again although the log has its result', async () => {
    const { wrong } = await explore(
      {
        name: 'x',
        agents: (p) => [
          scripted(p, 'x', async (_text, turn) => {
            p.note('pay', 'once', 'paid')
            await turn.step('pay', () => 'paid')
            return 'done'
          }),
        ],
        talk,
      },
      openMemory,
    )
    expect(wrong).toContain(
      'x, dieAfter commit 2: pay was asked "once" although it had given its answer',
    )
  })

  test('an answer that a crash changes', async () => {
    let count = 0
    const { wrong } = await exploreAgent(async (_text, turn) => {
      await turn.step('one', () => 1)
      return `answer ${++count}`
    })
    expect(wrong.some((one) => one.includes('answer is'))).toBe(true)
  })
})
