import { memo } from 'preact/compat'
import { isInterrupted, isTerminal, textOf } from '../../src/protocol/task.ts'
import type { Message, Task } from '../../src/protocol/types.ts'
import type { ExchangeView } from '../logic/exchange.ts'
import { taskLink } from '../logic/route.ts'
import { StateChip } from './chips.tsx'
import { Fault } from './empty.tsx'
import { MessageParts } from './message-parts.tsx'
import { MessageWords } from './message-words.tsx'
import { WorkDone } from './work.tsx'

/** What was said, oldest first. */
export function ChatLog(props: {
  readonly views: readonly ExchangeView[]
  readonly resume: () => void
  /** Whether tasks have a page here. */
  readonly linked: boolean
}) {
  return (
    <ol class="chat-log" aria-label="Conversation">
      {props.views.map((view, i) => (
        <OneExchange key={i} view={view} resume={props.resume} linked={props.linked} />
      ))}
    </ol>
  )
}

interface ExchangeProps {
  readonly view: ExchangeView
  readonly resume: () => void
  readonly linked: boolean
}

const OneExchange = memo(function ChatExchange({ view, resume, linked }: ExchangeProps) {
  const { task, answer, trace, phase, fault } = view
  const isBusy = phase !== 'idle' && phase !== 'lost'
  return (
    <li>
      {spoken(view).map((message) => (
        <Said key={message.messageId} message={message} />
      ))}
      {answer && <Answer parts={answer.parts} />}
      {task?.artifacts?.map((artifact) => (
        <section key={artifact.artifactId} aria-label={artifact.name ?? 'Answer'}>
          {artifact.name && artifact.name !== 'response' && <h2>{artifact.name}</h2>}
          <Answer parts={artifact.parts} />
        </section>
      ))}
      {task && <Ending task={task} isTold={trace.length > 0} />}
      <WorkDone trace={trace} open={isBusy && !task?.artifacts?.length} />
      <p class="row tight faint exchange-foot">
        {isBusy && <Busy phase={phase} state={task?.status.state} />}
        {task && isTerminal(task.status.state) && task.status.state !== 'TASK_STATE_COMPLETED' && (
          <StateChip state={task.status.state} />
        )}
        {task && linked && <a href={taskLink(task.id)}>What happened</a>}
      </p>
      {phase === 'lost' && <Fault text={fault ?? ''} retry={resume} />}
    </li>
  )
})

/** What the user said and was asked; what members report on the way stands among their work, where it is shown. */
function spoken({ task, sent, trace }: ExchangeView): readonly Message[] {
  const all = [...(task?.history ?? []), ...sent]
  const last = task?.status.message?.messageId
  return all.filter(({ role, messageId }, i) => {
    if (role === 'ROLE_USER') return true
    return messageId !== last && (trace.length === 0 || all[i + 1]?.role === 'ROLE_USER')
  })
}

function Said({ message }: { readonly message: Message }) {
  const isMine = message.role === 'ROLE_USER'
  const parts = message.parts.filter((part) => !('data' in part) || !isVerdict(part.data))
  return (
    <div class={isMine ? 'said mine' : 'said aside'}>
      <MessageWords parts={parts} />
    </div>
  )
}

/** Approving sends a word and the same as data: the word is enough to read. */
function isVerdict(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'approved' in data
}

function Answer({ parts }: { readonly parts: Message['parts'] }) {
  return (
    <div class="said answer">
      <MessageParts parts={parts} />
    </div>
  )
}

/** The words of the last status: the question of one that waits, the reason of one that failed. */
function Ending({ task, isTold }: { readonly task: Task; readonly isTold: boolean }) {
  const { message, state } = task.status
  if (!message) return null
  if (!isTerminal(state) && !isInterrupted(state)) return isTold ? null : <Said message={message} />
  if (task.artifacts?.some(({ parts }) => textOf(parts) === textOf(message.parts))) return null
  return (
    <div class={`said ${isTerminal(state) ? 'answer' : 'question'}`}>
      <MessageWords parts={message.parts} />
    </div>
  )
}

function Busy({
  phase,
  state,
}: {
  readonly phase: string
  readonly state: Task['status']['state'] | undefined
}) {
  if (phase === 'resuming') return <span role="status">Connection lost, taking it up again…</span>
  return (
    <span class="busy" role="status">
      {state === 'TASK_STATE_SUBMITTED' ? 'waits for its turn' : 'at work'}
    </span>
  )
}
