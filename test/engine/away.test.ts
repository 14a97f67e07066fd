import { describe, expect, test } from 'vitest'
import type { Agent, Turn } from '../../src/agents/agent.ts'
import { withLimits } from '../../src/agents/create.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf as textOfParts } from '../../src/protocol/task.ts'
import { createDeferred, type Deferred } from '../../src/shared/async.ts'
import { teamOf } from '../team/scene.ts'
import { ask, begin, createEngineFor, message, taskOf } from './scene.ts'

/** An agent that waits elsewhere for `far`, holds its slot for `hold`, and notes what it does. */
function createTraveller() {
  const heard: string[] = []
  const far = createDeferred<void>()
  const held = createDeferred<void>()
  const agent = defineAgent({ name: 'traveller' }, async ({ parts }, turn) => {
    const text = textOfParts(parts)
    heard.push(text)
    if (text.startsWith('hold')) await held.promise
    if (text.startsWith('away')) {
      const back = turn.away()
      await far.promise
      await back()
      await back()
      heard.push(`${text} is back`)
    }
    return turn.reply(`did ${text}`)
  })
  return { agent, heard, far, held }
}

describe('a turn that is away', () => {
  test('lets others run, and goes on before new ones', async () => {
    const { agent, heard, far, held } = createTraveller()
    const { engine } = createEngineFor(agent, { slots: 1 })
    const traveller = ask(engine, 'away')
    await ask(engine, 'quick')
    const holder = ask(engine, 'hold')
    const last = ask(engine, 'last')
    far.resolve()
    await far.promise
    held.resolve()
    await Promise.all([traveller, holder, last])
    expect(heard).toEqual(['away', 'quick', 'hold', 'away is back', 'last'])
  })

  test('and is cancelled waits for no slot', async () => {
    const { agent, heard, far, held } = createTraveller()
    const { engine, scope } = createEngineFor(agent, { slots: 1 })
    const { id } = await begin(engine, 'away')
    await begin(engine, 'hold')
    await engine.cancel(id, scope)
    far.resolve()
    await expect.poll(() => heard).toEqual(['away', 'hold', 'away is back'])
    held.resolve()
    await ask(engine, 'last')
  })

  test('and is cancelled while it comes back takes nobody’s slot', async () => {
    const { agent, heard, far, held } = createTraveller()
    const { engine, scope } = createEngineFor(agent, { slots: 1 })
    const { id } = await begin(engine, 'away')
    const holder = ask(engine, 'hold')
    far.resolve()
    await far.promise
    expect((await engine.get(id, scope)).status.state).toBe('TASK_STATE_WORKING')
    await engine.cancel(id, scope)
    await expect.poll(() => heard).toContain('away is back')
    const last = ask(engine, 'last')
    held.resolve()
    await Promise.all([holder, last])
  })

  test('does not keep an engine from closing', async () => {
    const { agent, heard, far, held } = createTraveller()
    const { engine } = createEngineFor(agent, { slots: 1 })
    const unanswered = [ask(engine, 'away'), ask(engine, 'away too'), ask(engine, 'hold')]
    far.resolve()
    const answers = Promise.allSettled(unanswered)
    await engine.close(0)
    expect((await answers).map(({ status }) => status)).toEqual(Array(3).fill('rejected'))
    await expect.poll(() => heard).toContain('away too is back')
    held.resolve()
  })

  test('answers without a slot where nothing is left to do but to clean up', async () => {
    const held = createDeferred<void>()
    const begun = createDeferred<void>()
    const agent = defineAgent({ name: 'relay' }, async function* ({ parts }, turn) {
      if (textOfParts(parts) === 'hold') {
        begun.resolve()
        await held.promise
      }
      const back = turn.away()
      try {
        await begun.promise
        yield turn.status('TASK_STATE_COMPLETED', 'relayed')
      } finally {
        await back()
      }
    })
    const { engine } = createEngineFor(agent, { slots: 1 })
    const relayed = ask(engine, 'relay')
    const holder = ask(engine, 'hold')
    expect(taskOf(await relayed).status.state).toBe('TASK_STATE_COMPLETED')
    held.resolve()
    await holder
  })

  test('more at once than wait for anything else are taken in, and all are answered', async () => {
    const { agent, far } = createTraveller()
    const { engine } = createEngineFor(agent, { slots: 2 })
    const all = Promise.all(Array.from({ length: 300 }, (_, i) => ask(engine, `away ${i}`)))
    const answered = engine.send(message('quick'), {})
    await (await answered).answer.wait()
    far.resolve()
    expect(await all).toHaveLength(300)
  })
})

describe('a member that is away', () => {
  /** Waits elsewhere until told, then stops without coming back by itself. */
  function createFar(id: string): { readonly agent: Agent; readonly far: Deferred<void> } {
    const far = createDeferred<void>()
    const agent = defineAgent({ name: id }, async function* (_message, turn: Turn) {
      const back = turn.away()
      try {
        await far.promise
        yield turn.status('TASK_STATE_COMPLETED', id)
      } finally {
        await back()
      }
    })
    return { agent, far }
  }

  test('gives back the slot of its team, which goes on when it has one again', async () => {
    const heard: string[] = []
    const held = createDeferred<void>()
    const { agent: far, far: told } = createFar('far')
    const near = defineAgent({ name: 'near' }, async ({ parts }, turn) => {
      heard.push(textOfParts(parts))
      if (textOfParts(parts) === 'hold') await held.promise
      return turn.reply('near')
    })
    const team = teamOf({ far: withLimits(far, { name: 'far', timeoutSeconds: 60 }), near })
    const both = defineAgent({ name: 'both' }, (sent, turn) =>
      textOfParts(sent.parts) === 'team' ? team.process(sent, turn) : near.process(sent, turn),
    )
    const { engine } = createEngineFor(both, { slots: 1 })
    const teams = ask(engine, 'team')
    await ask(engine, 'quick')
    const holder = ask(engine, 'hold')
    told.resolve()
    await told.promise
    held.resolve()
    await Promise.all([teams, holder])
    expect(heard).toEqual(['quick', 'hold', 'far'])
  })

  test('beside another takes the slot again after the last of them', async () => {
    const one = createFar('one')
    const two = createFar('two')
    const team = teamOf({ one: one.agent, two: two.agent }, 'team', {
      type: 'workflow',
      steps: [{ parallel: [{ agentId: 'one' }, { agentId: 'two' }] }],
    })
    const quick = defineAgent({ name: 'quick' }, (_message, turn) => turn.reply('quick'))
    const both = defineAgent({ name: 'both' }, (sent, turn) =>
      textOfParts(sent.parts) === 'team' ? team.process(sent, turn) : quick.process(sent, turn),
    )
    const { engine } = createEngineFor(both, { slots: 1 })
    const teams = ask(engine, 'team')
    await ask(engine, 'first')
    one.far.resolve()
    await one.far.promise
    await ask(engine, 'second')
    two.far.resolve()
    expect(taskOf(await teams).status.state).toBe('TASK_STATE_COMPLETED')
  })
})
