import type { JsonObject } from '../../protocol/types.ts'
import { toUsageMetadata, type Usage } from '../../protocol/usage.ts'
import type { Draft, Turn } from '../agent.ts'

/** Writes an answer piece by piece as chunks of one artifact. */
interface Writer {
  readonly artifactId: string
  /** The event for one more piece of text; none for an empty piece. */
  write(text: string): Iterable<Draft>
  /**
   * The last chunk: no text, but the usage in the artifact's metadata. What else is `said` of the answer, such as who goes
   * on, stands on a status of its own before it: a team reads it there, and it does not stay with the artifact. What
   * belongs to the answer itself, such as calls of the client's tools, does (`more`).
   */
  end(usage: Usage | undefined, said?: JsonObject, more?: JsonObject): Iterable<Draft>
}

/**
 * A writer for a turn's answer. Every piece goes out at once; the usage, which is known only after the text, stands on a
 * last chunk of its own. The first chunk begins the artifact anew: a turn that runs again, or that goes on with the
 * answer of an earlier one, replaces what was half said.
 */
export function createAnswerWriter(turn: Turn, artifactId: string = answerId(turn)): Writer {
  let begun = false

  function chunk(text: string, last?: { readonly metadata: JsonObject }): Draft {
    const append = begun
    begun = true
    const artifact = {
      artifactId,
      ...(!append && { name: 'response' }),
      parts: [{ text }],
      ...(last && Object.keys(last.metadata).length > 0 && { metadata: last.metadata }),
    }
    return turn.artifact(artifact, { ...(append && { append }), ...(last && { lastChunk: true }) })
  }

  return {
    artifactId,
    *write(text) {
      if (text !== '') yield chunk(text)
    },
    *end(usage, said, more) {
      if (said) yield { statusUpdate: { status: { state: 'TASK_STATE_WORKING' }, metadata: said } }
      yield chunk('', { metadata: { ...(usage && toUsageMetadata(usage)), ...more } })
    },
  }
}

/** A task's later turns answer in artifacts of their own, numbered as the engine numbers plain answers. */
function answerId({ history, message }: Turn): string {
  const earlier = history.filter(
    ({ role, messageId }) => role === 'ROLE_USER' && messageId !== message.messageId,
  )
  return earlier.length === 0 ? 'response' : `response-${earlier.length + 1}`
}
