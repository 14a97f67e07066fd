import type { TaskAnswer } from '../../src/console/api.ts'
import type { Part } from '../../src/protocol/types.ts'
import { roster } from '../logic/state.ts'
import { AnswerForm } from './answer-form.tsx'
import { Question } from './inbox-item.tsx'

/** What a task asks, and the place to answer it. */
export function TaskReply(props: {
  readonly head: TaskAnswer
  readonly say: (parts: readonly Part[]) => void
}) {
  const asked = roster.value?.needsYou.find(({ task }) => task.id === props.head.id)
  if (asked?.kind === 'login' || props.head.state === 'TASK_STATE_AUTH_REQUIRED') return null
  const question =
    asked?.question ?? props.head.history.findLast(({ role }) => role === 'ROLE_AGENT')
  return (
    <section class="panel pad waiting" aria-label="The task asks">
      {question && <Question parts={question.parts} />}
      <AnswerForm
        kind={asked?.kind === 'approval' ? 'approval' : 'input'}
        feedback={asked?.feedback}
        say={props.say}
      />
    </section>
  )
}
