import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEchoAgent } from '../../src/agents/function.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import type { SchedulerConfig } from '../../src/team/config.ts'
import { defineTeam } from '../../src/team/team.ts'
import {
  createInstantClock,
  openModelServer,
  runTeam,
  type ScriptedMember,
  scripted,
} from '../../src/testing/index.ts'

type Members = Readonly<Record<string, ScriptedMember>>

function workflow(agents: Members, rules: object = {}) {
  const steps = Object.keys(agents).map((agentId) => ({ agentId, ...rules }))
  return { id: 'team', name: 'Team', agents, scheduler: { type: 'workflow', steps } as const }
}

describe('running a team', () => {
  test('gives the answer, the task and whom it asked what', async () => {
    const agents = { planner: scripted(['a plan']), writer: scripted([{ chunks: ['a ', 'book'] }]) }
    const run = await runTeam(defineTeam(workflow(agents)), 'bees')
    expect(run).toMatchObject({ text: 'a book', state: 'TASK_STATE_COMPLETED', questions: [] })
    expect(run.task.artifacts).toHaveLength(1)
    expect(run.delegations).toMatchObject([
      { team: 'team', member: 'planner', text: 'bees', answer: 'a plan', try: 1 },
      { team: 'team', member: 'writer', text: 'a plan', answer: 'a book', try: 1 },
    ])
    expect(agents.writer.asked).toEqual(['a plan'])
    expect(run.events.filter((event) => 'artifactUpdate' in event).length).toBeGreaterThan(0)
  })

  test('answers its questions in order', async () => {
    const guide = scripted([{ asks: 'Where to?' }, { asks: 'When?' }, 'Booked'])
    const team = defineTeam(workflow({ guide }))
    const run = await runTeam(team, 'A journey', { answers: ['Bern', 'Monday'] })
    expect(run).toMatchObject({ text: 'Booked', questions: ['Where to?', 'When?'] })
    expect(guide.asked).toEqual(['A journey', 'Bern', 'Monday'])
  })

  test('comes after earlier messages of the same conversation, and tells of itself alone', async () => {
    const counter = scripted(async (text, turn) => {
      const count = Number((await turn.context.get('count')) ?? 0) + 1
      turn.context.set('count', count)
      return `${text} is number ${count}`
    })
    const team = defineTeam(workflow({ counter }))
    const run = await runTeam(team, 'c', { earlier: ['a', 'b'] })
    expect(run.text).toBe('c is number 3')
    expect(counter.asked).toEqual(['a', 'b', 'c'])
    expect(run.delegations.map(({ text }) => text)).toEqual(['c'])
    expect(JSON.stringify(run.events)).not.toContain('number 1')
  })

  test('answers its questions by a function, until that leaves one open', async () => {
    const guide = scripted([{ asks: 'Where to?' }, { asks: 'When?' }])
    const answers = (question: string) => (question === 'Where to?' ? 'Bern' : undefined)
    const run = await runTeam(defineTeam(workflow({ guide })), 'A journey', { answers })
    expect(run).toMatchObject({ text: 'When?', state: 'TASK_STATE_INPUT_REQUIRED' })
    expect(run.questions).toEqual(['Where to?', 'When?'])
  })

  test('refuses answers to questions that nobody asked, and says how it ended', async () => {
    const team = defineTeam(workflow({ writer: scripted(['a book']) }))
    const run = runTeam(team, 'bees', { answers: ['yes'] })
    await expect(run).rejects.toThrow(/1 answers.*0 questions.*COMPLETED.*a book/)
  })

  test('tells of failures and tries again, without waiting on an instant clock', async () => {
    const clock = createInstantClock()
    const writer = scripted([{ fails: new A2AError('unavailable', 'away') }, 'a book'])
    const team = defineTeam({ ...workflow({ writer }, { maxRetries: 1 }), clock })
    const run = await runTeam(team, 'bees', { logger: false })
    expect(run.text).toBe('a book')
    expect(run.delegations).toMatchObject([
      { member: 'writer', try: 1, reason: 'unavailable' },
      { member: 'writer', try: 2, answer: 'a book' },
    ])
    expect(clock.waits.filter((ms) => ms <= 500)).toHaveLength(1)
  })

  test('a failure is a result', async () => {
    const team = defineTeam(workflow({ writer: scripted([{ fails: 'no ink' }]) }))
    const run = await runTeam(team, 'bees', { logger: false })
    expect(run.state).toBe('TASK_STATE_FAILED')
    expect(run.delegations).toMatchObject([{ member: 'writer', reason: 'processingError' }])
    expect(run.delegations[0]).not.toHaveProperty('answer')
  })

  test.each<[string, SchedulerConfig<'lead' | 'coder'>, string]>([
    ['supervisor', { type: 'supervisor', supervisorAgentId: 'lead' }, 'Here you are'],
    ['router', { type: 'router', defaultAgentId: 'lead' }, 'a loop'],
  ])('shows the decisions of a %s', async (_, scheduler, text) => {
    const lead = scripted([{ delegates: 'coder', saying: 'write it' }, 'Here you are'])
    const agents = { lead, coder: scripted(['a loop']) }
    const run = await runTeam(
      defineTeam({ id: 't', name: 'T', agents, scheduler }),
      'A loop, please',
    )
    expect(run.text).toBe(text)
    expect(agents.coder.asked).toEqual(['write it'])
    expect(run.trace).toContainEqual(
      expect.objectContaining({ type: 'decision', member: 'lead', recipients: ['coder'] }),
    )
  })

  test('shows the way through nested teams', async () => {
    const inner = defineTeam({ ...workflow({ writer: scripted(['a book']) }), id: 'inner' })
    const outer = defineTeam({
      id: 'outer',
      name: 'Outer',
      agents: { inner },
      scheduler: { type: 'workflow', steps: [{ agentId: 'inner' }] },
    })
    const { delegations } = await runTeam(outer, 'bees')
    expect(delegations.map(({ team, member }) => [team, member])).toEqual([
      ['outer', 'inner'],
      ['inner', 'writer'],
    ])
    expect(delegations[0]).not.toHaveProperty('path')
    expect(delegations[1]?.path).toContain('inner')
  })

  test('runs a single agent, also one that answers with nothing but a message', async () => {
    expect((await runTeam(createEchoAgent(), 'hi')).text).toContain('hi')
    const polite = scripted((_, turn) => turn.reply('Good day'))
    const run = await runTeam(polite, 'hi')
    expect(run).toMatchObject({ text: 'Good day', state: 'TASK_STATE_COMPLETED' })
  })
})

describe('running a file', () => {
  const file = `
[[agents]]
id = "clerk"
name = "Clerk"
protocol = "openai"
endpoint = "\${MODEL_URL}"

[[agents]]
id = "scribe"
name = "Scribe"
protocol = "module"
endpoint = "./scribe.mjs"

[[teams]]
id = "office"
name = "Office"
description = "Answers"
mode = "workflow"

[[teams.agents]]
agent_id = "clerk"

[teams.scheduler_config]
type = "workflow"

[[teams.scheduler_config.steps]]
agent_id = "clerk"
order = 1
`

  function write(): string {
    const directory = mkdtempSync(join(tmpdir(), 'corral-testing-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    writeFileSync(join(directory, 'scribe.mjs'), 'export default () => "written"')
    writeFileSync(join(directory, 'corral.toml'), file)
    return join(directory, 'corral.toml')
  }

  test('runs its first team against a scripted model', async () => {
    const model = await openModelServer(['Good day'])
    onTestFinished(() => model.close())
    const env = { MODEL_URL: model.url, OPENAI_API_KEY: 'none' }
    const run = await runTeam(write(), 'hi', { env })
    expect(run.text).toBe('Good day')
    expect(run.delegations).toMatchObject([{ team: 'office', member: 'clerk' }])
    expect(model.requests).toHaveLength(1)
  })

  test('runs the team or agent that is named, and says whom there is', async () => {
    const env = { MODEL_URL: 'http://127.0.0.1:1/v1', OPENAI_API_KEY: 'none' }
    const path = write()
    expect((await runTeam(path, 'hi', { env, team: 'scribe' })).text).toBe('written')
    const unknown = runTeam(path, 'hi', { env, team: 'scribbler' })
    await expect(unknown).rejects.toThrow('it has: office, clerk, scribe')
  })
})

test('a member without answers is refused', () => {
  expect(() => scripted([])).toThrow('needs at least one answer')
})

test('a member may answer with a value', async () => {
  const run = await runTeam(scripted([{ data: { bees: 3 } }]), 'count')
  expect(run.task.artifacts?.[0]?.parts).toMatchObject([{ data: { bees: 3 } }])
  expect(run.text).toBe('{"bees":3}')
})
