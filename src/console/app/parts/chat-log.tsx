import { memo } from 'preact/compat'
import { isTerminal, textOf } from '../../../protocol/task.ts'
import type { Message, Task } from '../../../protocol/types.ts'
import type { ExchangeView } from '../logic/exchange.ts'
import { taskLink } from '../logic/route.ts'
import { StateChip } from './chips.tsx'
import { Fault } from './empty.tsx'
import { MessageParts } from './message-parts.tsx'
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
  const { task, sent, answer, trace, phase, fault } = view
  const isBusy = phase !== 'idle' && phase !== 'lost'
  return (
    <li>
      {[...(task?.history ?? []), ...sent].map((message) => (
        <Said key={message.messageId} message={message} status={task?.status.message?.messageId} />
      ))}
      {answer && <Answer parts={answer.parts} />}
      {task?.artifacts?.map((artifact) => (
        <section key={artifact.artifactId} aria-label={artifact.name ?? 'Answer'}>
          {artifact.name && artifact.name !== 'response' && <h2>{artifact.name}</h2>}
          <Answer parts={artifact.parts} />
        </section>
      ))}
      {task && <Ending task={task} />}
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

/** What somebody said; the closing words of a task stand beneath its artifacts. */
function Said({
  message,
  status,
}: {
  readonly message: Message
  readonly status: string | undefined
}) {
  if (message.role === 'ROLE_USER')
    return (
      <div class="said mine">
        <MessageParts
          parts={message.parts.filter((part) => !('data' in part) || !isVerdict(part.data))}
        />
      </div>
    )
  if (message.messageId === status) return null
  return (
    <div class="said aside">
      <MessageParts parts={message.parts} />
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
function Ending({ task: { status, artifacts } }: { readonly task: Task }) {
  const { message, state } = status
  if (!message) return null
  const repeats = artifacts?.some(({ parts }) => textOf(parts) === textOf(message.parts))
  if (repeats) return null
  return (
    <div class={`said ${isTerminal(state) ? 'answer' : 'question'}`}>
      <MessageParts parts={message.parts} />
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
