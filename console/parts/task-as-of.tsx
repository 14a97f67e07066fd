import type { Task } from '../../src/protocol/types.ts'
import { MessageParts } from './message-parts.tsx'
import { MessageWords } from './message-words.tsx'

/** What was said and made, as of the record that the slider stands on. */
export function AsOf({
  task,
  isReplay,
}: {
  readonly task: Task | undefined
  readonly isReplay: boolean
}) {
  if (!task) return null
  const { history = [], artifacts = [] } = task
  return (
    <div class={artifacts.length > 0 ? 'as-of two' : 'as-of'}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long conversation is scrolled by the keyboard too */}
      <section class="panel pad" aria-label="Conversation" tabIndex={0}>
        <h2>{isReplay ? 'Said until then' : 'What was said'}</h2>
        {history.map(({ messageId, role, parts }) => (
          <div key={messageId} class={role === 'ROLE_USER' ? 'said mine' : 'said aside'}>
            <MessageWords parts={parts} />
          </div>
        ))}
      </section>
      {artifacts.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by the keyboard too
        <section class="panel pad" aria-label="Artifacts" tabIndex={0}>
          <h2>{isReplay ? 'Made until then' : 'What was made'}</h2>
          {artifacts.map(({ artifactId, name, parts }) => (
            <div key={artifactId} class="artifact">
              {name && <h3>{name}</h3>}
              <MessageParts parts={parts} />
            </div>
          ))}
        </section>
      )}
    </div>
  )
}
