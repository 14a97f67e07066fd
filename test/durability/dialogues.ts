import { isTerminal, textOf } from '../../src/protocol/task.ts'
import type { StreamResponse, Task, TaskState } from '../../src/protocol/types.ts'
import type { LogRecord } from '../../src/store/store.ts'
import type { Random } from './random.ts'

/** Who asks the user, in which order, per agent that asks. */
export const askersOf: Readonly<Record<string, readonly string[]>> = {
  ask: ['ask'],
  guide: ['guide'],
  flow: ['b'],
  nested: ['b'],
  pair: ['q1', 'q2'],
  distant: ['guide'],
}

const yes = 'Yes.'
const no = 'no'
const unclear = 'yes, but later'

/** What the user answers to a question. Each answer names whom it is for, so that it is known again wherever it turns up. */
export function answerTo(question: string, name: string, random: Random): string {
  const asker = askerOf(question)
  if (asker !== approval) return `for-${asker} ${name}.`
  return random.pick([yes, yes, yes, no, unclear])
}

const approval = 'approval'

function askerOf(question: string): string {
  if (question.includes('Publish?')) return approval
  return /(\w+): which one\?/.exec(question)?.[1] ?? question
}

/** Whether a member was asked with an answer that is not for it. */
export function isMisdirected(member: string, input: string): boolean {
  if ([yes, no, unclear].includes(input)) return true
  return input.startsWith('for-') && !input.startsWith(`for-${member} `)
}

/**
 * What is wrong with the conversation in a task's log. Each message of the user is followed by the question that is due,
 * once, or by the end that it leads to.
 */
export function* checkDialogue(
  agent: string,
  records: readonly LogRecord[],
  state: TaskState,
): Iterable<string> {
  const said = records.flatMap(turnOf)
  const messages = said.filter(({ kind }) => kind === 'message').map(({ text }) => text)
  const expected = expectedOf(agent, messages)
  if (!expected) return
  const heard = said.map(({ kind, text }) => (kind === 'message' ? '>' : askerOf(text)))
  const due = expected.questions.flatMap((asker) => ['>', asker])
  const full = expected.ends ? [...due, '>'] : due
  const isCut = state === 'TASK_STATE_CANCELED' && heard.every((word, at) => word === full[at])
  if (isCut) return
  if (heard.join(' ') !== full.join(' '))
    yield `the conversation went ${heard.join(' ')}, not ${full.join(' ')}`
  const end = expected.ends ?? 'TASK_STATE_INPUT_REQUIRED'
  if (state !== end && state !== 'TASK_STATE_CANCELED') yield `it is ${state}, not ${end}`
}

interface Expected {
  readonly questions: readonly string[]
  readonly ends: TaskState | undefined
}

function expectedOf(agent: string, messages: readonly string[]): Expected | undefined {
  if (agent === 'press') return expectedOfApproval(messages.slice(1))
  const askers = askersOf[agent]
  if (!askers) return undefined
  const isAnswered = messages.length > askers.length
  return {
    questions: askers.slice(0, messages.length),
    ends: isAnswered ? 'TASK_STATE_COMPLETED' : undefined,
  }
}

function expectedOfApproval(answers: readonly string[]): Expected {
  const clear = answers.findIndex((answer) => answer !== unclear)
  const unclears = clear < 0 ? answers.length : clear
  const ends = answers[clear] === yes ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_REJECTED'
  return {
    questions: Array.from({ length: unclears + 1 }, () => approval),
    ends: clear < 0 ? undefined : ends,
  }
}

/** A message of the user's, or a question to the user. */
function turnOf(record: LogRecord): readonly { readonly kind: string; readonly text: string }[] {
  if (record.kind === 'message') return [{ kind: 'message', text: textOf(record.message.parts) }]
  if (record.kind !== 'event') return []
  const question = questionIn(record.event)
  return question === undefined ? [] : [{ kind: 'question', text: question }]
}

function questionIn(event: StreamResponse): string | undefined {
  const status = 'statusUpdate' in event ? event.statusUpdate.status : undefined
  return status?.state === 'TASK_STATE_INPUT_REQUIRED'
    ? textOf(status.message?.parts ?? [])
    : undefined
}

/** The question that a task waits with; undefined if it does not wait. */
export function questionOf({ status }: Task): string | undefined {
  if (status.state !== 'TASK_STATE_INPUT_REQUIRED') return undefined
  return textOf(status.message?.parts ?? [])
}

/** Whether a task has ended or asks. */
export function isSettled(task: Task): boolean {
  return isTerminal(task.status.state) || questionOf(task) !== undefined
}
