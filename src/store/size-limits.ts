import { A2AError } from '../protocol/errors.ts'
import type { FailureNote } from '../protocol/failure.ts'
import type {
  Artifact,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  Task,
} from '../protocol/types.ts'
import type { TurnRequest } from './feed.ts'
import type { LogRecord, TaskWrite, Write } from './store.ts'

/** Deeper than any document that is meant: what refers to itself has no end. */
const maxDepth = 1_000

/**
 * About how many bytes a value takes as JSON: exact enough for a bound, and without writing it out. Written for speed: it
 * sees every record of a store that writes nothing out.
 *
 * @throws TypeError for what JSON cannot express. A `toJSON` of the value's own may throw what it likes.
 */
export function weigh(value: unknown, depth = 0): number {
  if (typeof value === 'string') return weighText(value) + 2
  if (typeof value === 'number') return 5
  if (typeof value === 'object' && value !== null) return weighObject(value, depth + 1)
  if (typeof value === 'bigint') throw new TypeError('A BigInt cannot be written as JSON')
  return 4
}

/** Longer texts are counted in UTF-8, where one of Asia takes three bytes for a character. */
const shortText = 64

/** A short text is taken by its length: to ask for its bytes costs more than what it may hold beyond that. */
function weighText(text: string): number {
  return text.length <= shortText ? text.length : Buffer.byteLength(text)
}

function weighObject(value: object, depth: number): number {
  if (depth > maxDepth) throw new TypeError('A circular value cannot be written as JSON')
  if (Array.isArray(value)) return weighArray(value, depth)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return weighOther(value, depth)
  const members = value as Readonly<Record<string, unknown>> // any object has members by name
  let sum = 2
  for (const key in members) {
    const member = members[key]
    if (typeof member === 'function') {
      if (key === 'toJSON') return weigh(member.call(value), depth)
    } else sum += weighText(key) + 4 + weigh(member, depth)
  }
  return sum
}

function weighArray(values: readonly unknown[], depth: number): number {
  let sum = 2
  for (let i = 0; i < values.length; i++) sum += weigh(values[i], depth) + 1
  return sum
}

/** An object of some class: a date says what it is, others are what they hold. */
function weighOther(value: object, depth: number): number {
  if ('toJSON' in value && typeof value.toJSON === 'function') return weigh(value.toJSON(), depth)
  return weigh({ ...value }, depth)
}

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
      return frame + weighEvent(record.event) + weighFailure(record.failure)
    case 'message':
      return frame + weighMessage(record.message) + weighRequest(record.request)
    case 'step':
      return frame + weighText(record.name) + weigh(record.result)
    case 'state':
      return frame + weighText(record.key) + weigh(record.value)
    case 'trace':
      return frame + weigh(record.entry) + weighFailure(record.failure)
    default:
      return frame
  }
}

function weighFailure(failure: FailureNote | undefined): number {
  return failure ? frame + weigh(failure.words) : 0
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

/** About how many bytes records take as JSON. @throws TypeError for what JSON cannot express. */
export function weighRecords(records: readonly LogRecord[]): number {
  let sum = 0
  for (const record of records) sum += weighRecord(record)
  return sum
}

/** About how many bytes a task takes as JSON. @throws TypeError for what JSON cannot express. */
export function weighTask({ status, history, artifacts, metadata }: Task): number {
  let sum = frame + weighMeta(metadata)
  if (status.message) sum += weighMessage(status.message)
  if (history) for (const message of history) sum += weighMessage(message)
  if (artifacts) for (const artifact of artifacts) sum += weighArtifact(artifact)
  return sum
}

function weighArtifact(artifact: Artifact): number {
  const { artifactId, name, description, parts, metadata, extensions } = artifact
  let sum = frame + artifactId.length + weighParts(parts) + weighMeta(metadata)
  if (name) sum += weighText(name)
  if (description) sum += weighText(description)
  if (extensions) sum += weigh(extensions)
  return sum
}

/** About how many bytes a message takes as JSON. @throws TypeError for what JSON cannot express. */
export function weighMessage(message: Message): number {
  const { messageId, parts, metadata, extensions, referenceTaskIds } = message
  let sum = frame + messageId.length + weighParts(parts) + weighMeta(metadata)
  if (extensions) sum += weigh(extensions)
  if (referenceTaskIds) sum += weigh(referenceTaskIds)
  return sum
}

/** About how many bytes it takes what a turn keeps of its request. */
export function weighRequest({ metadata, extensions, acceptedOutputModes }: TurnRequest): number {
  let sum = weighMeta(metadata)
  if (extensions) sum += weigh(extensions)
  if (acceptedOutputModes) sum += weigh(acceptedOutputModes)
  return sum
}

function weighParts(parts: readonly Part[]): number {
  let sum = 0
  for (const part of parts) {
    if ('text' in part) sum += weighText(part.text) + 10
    else if ('raw' in part) sum += part.raw.length + 10
    else sum += weigh('data' in part ? part.data : part.url)
    if (part.metadata) sum += weigh(part.metadata)
    if (part.filename) sum += weighText(part.filename)
    if (part.mediaType) sum += part.mediaType.length
  }
  return sum
}

function weighMeta(metadata: JsonObject | undefined): number {
  return metadata ? weigh(metadata) : 0
}

/** The largest write of one task that a store takes by default, in bytes. */
export const defaultMaxTaskBytes: number = 32 * 1024 * 1024

/** The same while a store is copied: what the other one took is taken. */
export const copyBytes: number = 512 * 1024 * 1024

/** Why a write can never be stored. What was thrown may hold a user's data, so it is not repeated. */
export function refusalOf(
  write: Write,
  reason:
    | { readonly thrown: unknown }
    | { readonly maxBytes: number }
    /** What of it the database refuses. */
    | { readonly holding: string },
): string {
  const what = nameOf(write)
  if ('holding' in reason) return `${what} holds ${reason.holding}`
  if ('maxBytes' in reason) return `${what} is larger than ${reason.maxBytes} bytes`
  return `${what} holds ${culpritOf(reason.thrown)}, which cannot be stored as JSON`
}

/**
 * A store that writes nothing out could keep anything; but what it keeps is sent over wires, and another store takes its
 * place, so it refuses what those cannot. The records are looked at: what is new of a task is in them.
 */
export function refusalFor(write: Write, maxBytes: number): string | undefined {
  if (write.type !== 'task' && write.type !== 'contextValue') return undefined
  try {
    return weightOf(write) > maxBytes ? refusalOf(write, { maxBytes }) : undefined
  } catch (thrown) {
    return refusalOf(write, { thrown })
  }
}

function weightOf(write: Extract<Write, { type: 'task' | 'contextValue' }>): number {
  if (write.type === 'contextValue') return weigh(write.value)
  return write.bytes ?? weighRecords(write.records)
}

function nameOf(write: Write): string {
  if (write.type === 'task') return `Task ${write.head.id}`
  if (write.type === 'contextValue') return `The value ${JSON.stringify(write.key)} of the context`
  return 'What is written'
}

function culpritOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : ''
  if (/BigInt/i.test(message)) return 'a BigInt'
  if (/circular|cycl/i.test(message)) return 'a reference to itself'
  return 'a value'
}

/**
 * Refuses a commit that no store could keep: a log with gaps, or a new task without its snapshot.
 * It looks at all writes before any of them is made.
 *
 * @throws A2AError `internal`: this is a mistake of the writer, not of a peer.
 */
export function checkWrites(writes: readonly Write[]): void {
  for (const write of writes) if (write.type === 'task') checkTaskWrite(write)
}

function checkTaskWrite({ head, expectedVersion, records, task }: TaskWrite): void {
  if (expectedVersion === 0 && task === undefined)
    throw new A2AError('internal', `The first write of task ${head.id} has no snapshot`)
  if (expectedVersion === 0 && records.length === 0)
    throw new A2AError('internal', `The first write of task ${head.id} has no records`)
  if (records.some((record, i) => record.seq !== expectedVersion + 1 + i))
    throw new A2AError(
      'internal',
      `The log of task ${head.id} would have a gap: ${records.map(({ seq }) => seq).join(', ')}`,
    )
}
