import { describe, expect, test } from 'vitest'
import type { Agent, Turn } from '../../src/agents/agent.ts'
import { textOf, userMessage } from '../../src/protocol/task.ts'
import type { Json, Message, Task } from '../../src/protocol/types.ts'
import type { BudgetConfig, TeamScheduler } from '../../src/team/config.ts'
import { defineTeam, type Team } from '../../src/team/team.ts'
import { InvalidTeamError } from '../../src/team/validate.ts'
import { member, type ScriptedMember } from '../fixtures/members.ts'
import { createTurn, foldEvents, runTurn, type TurnSetup } from '../fixtures/turn.ts'

/** A scheduler under test, in a team of `lead` and `helper`. */
export interface SchedulerSubject {
  /** The mode that the team's card shows. */
  readonly mode: string
  /** Asks `lead` first and `helper` afterwards; helper's words are in the answer. */
  readonly scheduler: TeamScheduler
  /** The same, but it names the member `nobody`, whom the team does not have. */
  readonly broken: TeamScheduler
  /** The member that leads to the helper: what it must answer depends on the kind. */
  readonly lead: () => ScriptedMember
  /** How often the lead is asked in a run that asks the helper once. */
  readonly leadAsked: number
}

/** What every scheduler owes its team, built in or a user's own. A new kind passes this. */
export function describeScheduler(name: string, subject: SchedulerSubject): void {
  describe(`${name}: the contract of schedulers`, () => {
    test('asks its members, and their words are the answer of a completed task', async () => {
      const { team, lead, helper } = setUp(subject)
      const task = await conversation(team).say('a house')
      expect(task.status.state).toBe('TASK_STATE_COMPLETED')
      expect(answerOf(task)).toContain('helped')
      expect(lead.asked).toHaveLength(subject.leadAsked)
      expect(helper.asked).toHaveLength(1)
      expect(task.artifacts?.map(({ artifactId }) => artifactId)).toEqual(['response'])
    })

    test('is the mode of the team’s card', async () => {
      const info = await setUp(subject).team.info()
      expect(info.metadata.mode).toBe(subject.mode)
    })

    test('is refused when it names a member that the team does not have', () => {
      expect(() => setUp(subject, { scheduler: subject.broken })).toThrow(InvalidTeamError)
      expect(() => setUp(subject, { scheduler: subject.broken })).toThrow('nobody')
    })

    test('asks nobody again after a crash, and comes to the same answer', async () => {
      const { team, lead, helper } = setUp(subject)
      const steps = new Map<string, Json>()
      const first = await conversation(team).say('a house', { steps })
      const again = await conversation(team).say('a house', { steps, attempt: 2 })
      expect(answerOf(again)).toBe(answerOf(first))
      expect(lead.asked).toHaveLength(subject.leadAsked)
      expect(helper.asked).toHaveLength(1)
    })

    test('goes on after a crash at each of its steps', async () => {
      const { team } = setUp(subject)
      const steps = new Map<string, Json>()
      const whole = answerOf(await conversation(team).say('a house', { steps }))
      const done = [...steps]
      for (let kept = 0; kept < done.length; kept++) {
        const { team: fresh, helper } = setUp(subject)
        const left = new Map(done.slice(0, kept))
        const helped = [...left.keys()].some((key) => key.endsWith(':helper'))
        const task = await conversation(fresh).say('a house', { steps: left, attempt: 2 })
        expect(answerOf(task)).toBe(whole)
        expect(helper.asked).toHaveLength(helped ? 0 : 1)
      }
    })

    test('lets a member ask the user, and brings the answer to that member alone', async () => {
      const helper = member('helper', (text, turn) =>
        turn.task ? `helped with ${text}` : ask(turn, 'which colour?'),
      )
      const { team, lead } = setUp(subject, { helper })
      const task = conversation(team)
      const asked = await task.say('a house')
      expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
      expect(textOf(asked.status.message?.parts ?? [])).toBe('which colour?')
      const done = await task.say('red')
      expect(done.status.state).toBe('TASK_STATE_COMPLETED')
      expect(answerOf(done)).toContain('helped with red')
      expect(helper.asked.at(-1)).toBe('red')
      expect(helper.asked).toHaveLength(2)
      expect(lead.asked).toHaveLength(subject.leadAsked)
    })

    test('keeps runs that go on at once apart', async () => {
      const { team } = setUp(subject)
      const tasks = await Promise.all(
        ['one', 'two', 'three'].map((text) => conversation(team).say(text)),
      )
      for (const task of tasks) expect(answerOf(task)).toBe(answerOf(tasks[0] as Task))
    })

    test('ends when it is cancelled, and the member that is at work hears it', async () => {
      const reason = new Error('no longer wanted')
      let heard: unknown
      const helper = member('helper', async (_text, turn) => {
        turn.signal.addEventListener('abort', () => {
          heard = turn.signal.reason
        })
        scripted.cancel(reason)
        return new Promise<string>(() => {})
      })
      const { team } = setUp(subject, { helper })
      const scripted = createTurn('a house')
      await expect(runTurn(team, scripted)).rejects.toBe(reason)
      expect(heard).toBe(reason)
    })

    test('stops when the budget of its run is spent', async () => {
      const { team } = setUp(subject, { budget: { maxHops: 1 } })
      await expect(runTurn(team, createTurn('a house'))).rejects.toThrow(/budget of 1 delegations/)
    })
  })
}

interface Setting {
  readonly helper?: ScriptedMember
  readonly scheduler?: TeamScheduler
  readonly budget?: BudgetConfig
}

function setUp(
  subject: SchedulerSubject,
  {
    helper = member('helper', () => 'helped'),
    scheduler = subject.scheduler,
    budget,
  }: Setting = {},
): { team: Team; lead: ScriptedMember; helper: ScriptedMember } {
  const lead = subject.lead()
  const agents: Record<string, Agent> = { lead, helper }
  const team = defineTeam({
    id: 'team',
    name: 'Team',
    agents,
    scheduler,
    ...(budget && { budget }),
  })
  return { team, lead, helper }
}

/** A task of several turns: what is saved stays, steps belong to one turn. */
function conversation(team: Team): { say(text: string, setup?: TurnSetup): Promise<Task> } {
  const saved = new Map<string, Json>()
  const history: Message[] = []
  return {
    async say(text, setup = {}) {
      const message = userMessage(text)
      const status = { state: 'TASK_STATE_INPUT_REQUIRED' } as const
      const task = { id: 'task-1', contextId: 'context-1', status }
      const number = history.length + 1
      const known = history.length > 0 && { task, number, history: [...history] }
      const turn = createTurn(message, { saved, ...known, ...setup })
      history.push(message)
      return foldEvents(turn, await runTurn(team, turn))
    },
  }
}

async function* ask(turn: Turn, question: string) {
  yield turn.ask(question)
}

function answerOf(task: Task): string {
  return textOf((task.artifacts ?? []).flatMap((artifact) => artifact.parts))
}
