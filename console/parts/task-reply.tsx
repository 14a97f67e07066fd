import type { TaskAnswer } from '../../src/console/api.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { Part } from '../../src/protocol/types.ts'
import { askedTool } from '../logic/asked-tool.ts'
import { roster } from '../logic/state.ts'
import { firstWords } from '../logic/words.ts'
import { AnswerForm } from './answer-form.tsx'
import { ToolQuestion } from './tool-question.tsx'

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
      {question && askedTool(question.parts) && <ToolQuestion parts={question.parts} />}
      {question && !askedTool(question.parts) && (
        <p>{firstWords(textOf(question.parts).trim().split('\n').at(-1) ?? '', 300)}</p>
      )}
      <AnswerForm kind={asked?.kind === 'approval' ? 'approval' : 'input'} say={props.say} />
    </section>
  )
}
