import type { TaskState } from '../../src/protocol/types.ts'
import { colourOf, stateWord } from '../logic/words.ts'

/** The state of a task in a word. */
export function StateChip({ state }: { readonly state: TaskState }) {
  const { word, tone } = stateWord(state)
  return <span class={`chip ${tone}`}>{word}</span>
}

/** A member's colour. */
export function MemberDot({ id }: { readonly id: string }) {
  return <i class={`dot ${colourOf(id)}`} aria-hidden="true" />
}

/** How an agent does, as a colour with its word for those who do not see it. */
export function HealthDot({
  health,
  reason,
}: {
  readonly health: string
  readonly reason?: string
}) {
  return (
    <span class={`health ${health}`} title={reason ?? health}>
      <span class="hidden">{health}</span>
    </span>
  )
}
