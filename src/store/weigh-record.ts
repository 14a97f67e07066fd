import type {
  Artifact,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  Task,
} from '../protocol/types.ts'
import type { LogRecord } from './store.ts'
import { weigh } from './weigh.ts'

/** What a record, a message or a part takes besides what is in it. */
const frame = 150

/**
 * About how many bytes a record takes as JSON. Only what an agent or a peer brought is looked into; the rest is ours, and
 * has a shape and a size.
 *
 * @throws TypeError for what JSON cannot express.
 */
export function weighRecord(record: LogRecord): number {
  switch (record.kind) {
    case 'event':
      return frame + weighEvent(record.event)
    case 'message':
      return frame + weighMessage(record.message) + weighMeta(record.request.metadata)
    case 'step':
      return frame + record.name.length + weigh(record.result)
    case 'state':
      return frame + record.key.length + weigh(record.value)
    case 'trace':
      return frame + weigh(record.entry)
    default:
      return frame
  }
}

function weighEvent(event: StreamResponse): number {
  if ('artifactUpdate' in event) {
    const { artifact, metadata } = event.artifactUpdate
    return weighArtifact(artifact) + weighMeta(metadata)
  }
  if ('statusUpdate' in event) {
    const { status, metadata } = event.statusUpdate
    return frame + (status.message ? weighMessage(status.message) : 0) + weighMeta(metadata)
  }
  return 'task' in event ? weighTask(event.task) : weighMessage(event.message)
}

function weighTask({ status, history, artifacts, metadata }: Task): number {
  let sum = frame + weighMeta(metadata)
  if (status.message) sum += weighMessage(status.message)
  if (history) for (const message of history) sum += weighMessage(message)
  if (artifacts) for (const artifact of artifacts) sum += weighArtifact(artifact)
  return sum
}

function weighArtifact({ parts, metadata }: Artifact): number {
  return frame + weighParts(parts) + weighMeta(metadata)
}

function weighMessage({ parts, metadata }: Message): number {
  return frame + weighParts(parts) + weighMeta(metadata)
}

function weighParts(parts: readonly Part[]): number {
  let sum = 0
  for (const part of parts) {
    if ('text' in part) sum += part.text.length + 10
    else if ('raw' in part) sum += part.raw.length + 10
    else sum += weigh(part)
    if (part.metadata) sum += weigh(part.metadata)
  }
  return sum
}

function weighMeta(metadata: JsonObject | undefined): number {
  return metadata ? weigh(metadata) : 0
}
