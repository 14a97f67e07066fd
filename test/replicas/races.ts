import { setImmediate as nextTick } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isTerminal } from '../../src/protocol/task.ts'
import type { TaskState } from '../../src/protocol/types.ts'
import type { LogRecord } from '../../src/store/store.ts'
import { createScriptedAgent, type ScriptedAgent } from '../conformance/agent.ts'
import type { Answer } from '../contracts/binding.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'
import { begin, openReplicas, type Replica, saying } from './scene.ts'

/** Two servers and what they serve. */
interface Pair {
  readonly agent: ScriptedAgent
  readonly a: Replica
  readonly b: Replica
}

/** What two replicas make of the same thing at the same moment, so many times each. */
export function describeRaces(rounds: number): void {
  describePostgres(`two replicas at the same moment, ${rounds} times`, () => {
    const database = usePostgres()

    async function open(): Promise<Pair> {
      const agent = createScriptedAgent()
      const replicas = openReplicas(database, agent)
      return { agent, a: await replicas.open(), b: await replicas.open() }
    }

    test('one idempotency key makes one task, which both answer with', async () => {
      const { agent, a, b } = await open()
      for (let i = 0; i < rounds; i++) {
        const headers = { 'idempotency-key': `key-${i}` }
        const send = ({ wire }: Replica) => wire.ask('SendMessage', saying(`once ${i}`), headers)
        const [one, other] = await atOnce(i, [() => send(a), () => send(b)])
        expect(one.error ?? other.error, told(one, other)).toBeUndefined()
        expect(one.result.task.id).toBe(other.result.task.id)
        expect(one.result.task.status.state).toBe('TASK_STATE_COMPLETED')
        expect(other.result.task.status.state).toBe('TASK_STATE_COMPLETED')
        await expectOneEnd(a, one.result.task.id)
      }
      expect(new Set(agent.heard).size).toBe(agent.heard.length)
      expect(agent.heard).toHaveLength(rounds)
    })

    test('one question takes one answer, and whoever comes second hears so', async () => {
      const { agent, a, b } = await open()
      for (let i = 0; i < rounds; i++) {
        const id = await asked(a)
        const before = agent.heard.length
        const send = ({ wire }: Replica, text: string) => wire.ask('SendMessage', saying(text, id))
        const answers = await atOnce(i, [() => send(a, 'left'), () => send(b, 'right')])
        for (const { error, body } of answers)
          expect([undefined, 'UnsupportedOperation'], JSON.stringify(body)).toContain(error)
        expect(answers.some(({ error }) => error === undefined)).toBe(true)
        expect(await expectOneEnd(b, id)).toBe('TASK_STATE_COMPLETED')
        expect(agent.heard.slice(before), told(...answers)).toHaveLength(1)
      }
    })

    test.each(['hold', 'ask'])(
      'two cancels of one that began with %s end it once',
      async (text) => {
        const { a, b } = await open()
        for (let i = 0; i < rounds; i++) {
          const id = text === 'ask' ? await asked(a) : await begin(a, text)
          const cancel = ({ wire }: Replica) => wire.ask('CancelTask', { id })
          const answers = await atOnce(i, [() => cancel(a), () => cancel(b)])
          for (const { result, body } of answers)
            expect(result?.status.state, JSON.stringify(body)).toBe('TASK_STATE_CANCELED')
          expect(await expectOneEnd(b, id)).toBe('TASK_STATE_CANCELED')
        }
      },
    )

    test('a cancel and an answer: one of them wins, and the other hears so', async () => {
      const { a, b } = await open()
      for (let i = 0; i < rounds; i++) {
        const id = await asked(a)
        const [cancelled, answered] = await atOnce(i, [
          () => a.wire.ask('CancelTask', { id }),
          () => b.wire.ask('SendMessage', saying('this one', id)),
        ])
        const end = await expectOneEnd(b, id)
        const whatWas = told(cancelled, answered)
        if (end === 'TASK_STATE_CANCELED') {
          expect(cancelled.result?.status.state, whatWas).toBe(end)
          if (answered.error) expect(answered.error, whatWas).toBe('UnsupportedOperation')
          else expect(answered.result.task.status.state, whatWas).toBe(end)
        } else {
          expect(end, whatWas).toBe('TASK_STATE_COMPLETED')
          expect(cancelled.error, whatWas).toBe('TaskNotCancelable')
          expect(answered.result?.task.status.state, whatWas).toBe(end)
        }
      }
    })
  })
}

/** Does both, now one and now the other a little earlier. */
async function atOnce(
  round: number,
  [one, other]: readonly [() => Promise<Answer>, () => Promise<Answer>],
): Promise<readonly [Answer, Answer]> {
  const late = (round % 9) - 4
  async function after(ticks: number, act: () => Promise<Answer>): Promise<Answer> {
    for (let i = 0; i < ticks; i++) await nextTick()
    return act()
  }
  return Promise.all([after(late, one), after(-late, other)])
}

/** A task that waits for input. */
async function asked({ wire }: Replica): Promise<string> {
  return (await wire.ask('SendMessage', saying('ask'))).result.task.id
}

/** The state in which a task ended, once, with a log without gaps. */
async function expectOneEnd({ store }: Replica, id: string): Promise<TaskState> {
  const records = await store.records(id, 0)
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1))
  const ends = records.flatMap(endOf)
  expect(ends, JSON.stringify(records)).toHaveLength(1)
  return ends[0] ?? 'TASK_STATE_UNSPECIFIED'
}

function endOf(record: LogRecord): TaskState | readonly [] {
  if (record.kind !== 'event') return []
  const { event } = record
  const status =
    'statusUpdate' in event
      ? event.statusUpdate.status
      : 'task' in event
        ? event.task.status
        : undefined
  return status && isTerminal(status.state) ? status.state : []
}

function told(...answers: readonly Answer[]): string {
  return answers.map(({ body }) => JSON.stringify(body)).join('\n')
}
