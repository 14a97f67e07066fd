import type { StreamResponse } from '../protocol/types.ts'

/**
 * Makes what writes canonical events as JSON. Most events of a stream are chunks of a text: one after the other they differ
 * in the text alone, so what stands around it is written once and kept for the next. Everything else is for
 * `JSON.stringify`, which writes the same members.
 */
export function createChunkJson(): (event: StreamResponse) => string {
  let taskId: string | undefined
  let contextId: string | undefined
  let artifactId: string | undefined
  let before = ''
  return (event) => {
    const text = chunkText(event)
    if (text === undefined || !('artifactUpdate' in event)) return JSON.stringify(event)
    const { artifactUpdate: update } = event
    const { artifact } = update
    const isNext = taskId === update.taskId && contextId === update.contextId
    if (!isNext || artifactId !== artifact.artifactId) {
      taskId = update.taskId
      contextId = update.contextId
      artifactId = artifact.artifactId
      const ids = `"taskId":${JSON.stringify(taskId)},"contextId":${JSON.stringify(contextId)}`
      before = `{"artifactUpdate":{${ids},"artifact":{"artifactId":${JSON.stringify(artifactId)},"parts":[{"text":`
    }
    return `${before}${JSON.stringify(text)}}]},"append":true}}`
  }
}

/** The text of an event that continues an artifact by one plain text and says nothing else. */
function chunkText(event: StreamResponse): string | undefined {
  if (!('artifactUpdate' in event)) return undefined
  const { artifactUpdate: update } = event
  const { artifact, append } = update
  const part = artifact.parts[0]
  if (append !== true || artifact.parts.length !== 1 || !part || !('text' in part)) return undefined
  const isPlain = has(event, 1) && has(update, 4) && has(artifact, 2) && has(part, 1)
  return isPlain ? part.text : undefined
}

/** Whether a plain object has so many members. */
function has(value: object, members: number): boolean {
  let count = 0
  for (const _ in value) count++
  return count === members && Object.getPrototypeOf(value) === Object.prototype
}
