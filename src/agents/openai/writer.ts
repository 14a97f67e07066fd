import { toUsageMetadata, type Usage } from '../../protocol/usage.ts'
import type { Draft, Turn } from '../agent.ts'

/** Writes an answer piece by piece as chunks of one artifact. */
export interface Writer {
  /** The events for one more piece of text. */
  write(text: string): Iterable<Draft>
  /** The last chunk, with the usage in the artifact's metadata. */
  end(usage: Usage | undefined): Iterable<Draft>
}

/**
 * A writer for a turn's answer. It keeps one piece back, because the usage is known only after the text, and has to
 * stand on a chunk. The first chunk begins the artifact anew: a turn that runs again replaces what was half said.
 */
export function createWriter(turn: Turn): Writer {
  const artifactId = answerId(turn)
  let held = ''
  let begun = false

  function chunk(usage?: Usage, lastChunk?: boolean): Draft {
    const parts = [{ text: held }]
    const append = begun
    begun = true
    const artifact = {
      artifactId,
      ...(!append && { name: 'response' }),
      parts,
      ...(usage && { metadata: toUsageMetadata(usage) }),
    }
    return turn.artifact(artifact, { ...(append && { append }), ...(lastChunk && { lastChunk }) })
  }

  return {
    *write(text) {
      if (text === '') return
      if (held !== '') yield chunk()
      held = text
    },
    *end(usage) {
      yield chunk(usage, true)
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
