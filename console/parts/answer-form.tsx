import { useSignal } from '@preact/signals'
import type { Part } from '../../src/protocol/types.ts'

/** Answers a question by a word, and one that asks for approval by a press, or by a word where that is feedback. */
export function AnswerForm(props: {
  readonly kind: 'approval' | 'input'
  readonly feedback: boolean | undefined
  readonly say: (parts: readonly Part[]) => void
}) {
  const text = useSignal('')
  const submit = (event: Event): void => {
    event.preventDefault()
    if (text.value.trim() === '') return
    props.say([{ text: text.value.trim() }])
    text.value = ''
  }
  if (props.kind === 'approval' && !props.feedback) return <Verdict say={props.say} />
  return (
    <form class="row answer-form" onSubmit={submit}>
      {props.kind === 'approval' && <Verdict say={props.say} />}
      <input
        type="text"
        class="grow"
        aria-label="Answer"
        placeholder={props.kind === 'approval' ? 'or say what to change' : 'Your answer'}
        value={text.value}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value
        }}
      />
      <button type="submit">Answer</button>
    </form>
  )
}

/** Yes or no at one press. */
export function Verdict({ say }: { readonly say: (parts: readonly Part[]) => void }) {
  return (
    <span class="row tight">
      <button type="button" class="go" onClick={() => say(approval)}>
        Approve
      </button>
      <button type="button" onClick={() => say(rejection)}>
        Reject
      </button>
    </span>
  )
}

/** A word for people and the same as data for the team: only one of them can be misread. */
const approval: readonly Part[] = [{ text: 'approve' }, { data: { approved: true } }]
const rejection: readonly Part[] = [{ text: 'reject' }, { data: { approved: false } }]
