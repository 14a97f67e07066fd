import {
  type Artifact,
  createFold,
  type Fold,
  type JsonObject,
  type Message,
  type StreamResponse,
  type Task,
  type TaskStatus,
} from '../index.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { toPrintableLine } from '../shared/text.ts'
import { type Activity, createActivity } from './activity.ts'
import { dim, type Screen } from './screen.ts'
import { createProse, type Prose } from './terminal/markdown.ts'
import { entryIn } from './terminal/trace.ts'
import { partText, stateName } from './text.ts'

/** Shows what an agent says as it comes, and remembers where the conversation stands. */
export interface Transcript {
  show(event: StreamResponse): void
  /** Takes in what happened inside the task before it was watched. */
  recall(entries: readonly JsonObject[]): void
  /** Ends the line that is open; nothing more is waited for. */
  end(): void
  /** The task as the events tell it; undefined where a message answered. */
  task(): Task | undefined
  /** The context of the conversation, once it is known. */
  contextId(): string | undefined
}

/** Where a transcript goes. */
interface TranscriptOptions {
  /** The agent's words. */
  readonly out: Screen
  /** What is said about them: progress and state. */
  readonly about: Screen
  /** Each event as a line of JSON instead. */
  readonly json?: boolean
  /** The task as it was before: what it said then is not said again. */
  readonly before?: Task | undefined
  /** Who is waited for; "waiting" if absent. */
  readonly name?: string
  /** Whether what happens inside the task is seen as a tree that grows, instead of line by line. */
  readonly asTree?: boolean
  readonly clock?: Clock
}

/** Makes a transcript; on a terminal it shows what happens inside the task, and that it waits. */
export function createTranscript(options: TranscriptOptions): Transcript {
  return options.json ? new Events(options.out) : new Conversation(options)
}

/** Remembers where the conversation stands. */
class Memory {
  #fold: Fold | undefined
  #lone: Message | undefined

  keep(event: StreamResponse): void {
    if ('message' in event) this.#lone = event.message
    else if ('task' in event) this.#fold = createFold(event.task)
    else if (!entryOf(event)) this.#fold?.apply(event)
  }

  task(): Task | undefined {
    return this.#fold?.snapshot()
  }

  contextId(): string | undefined {
    return this.task()?.contextId ?? this.#lone?.contextId
  }
}

/** Each event as a line of JSON. */
class Events extends Memory implements Transcript {
  readonly #out: Screen

  constructor(out: Screen) {
    super()
    this.#out = out
  }

  show(event: StreamResponse): void {
    this.keep(event)
    this.#out.write(`${JSON.stringify(event)}\n`)
  }

  recall(): void {}

  end(): void {}
}

/** What is said, for a person. */
class Conversation extends Memory implements Transcript {
  readonly #prose: Prose
  readonly #activity: Activity
  readonly #before: Task | undefined
  /** Whether notes wait until the agent has ended its line. */
  readonly #waits: boolean
  #artifactId: string | undefined

  constructor(options: TranscriptOptions) {
    super()
    const { out, before, clock = systemClock } = options
    this.#prose = createProse(out)
    this.#activity = createActivity({ ...options, clock })
    this.#before = before
    this.#waits = out.hasStyles
  }

  recall(entries: readonly JsonObject[]): void {
    this.#activity.recall(entries)
  }

  show(event: StreamResponse): void {
    this.keep(event)
    const entry = entryOf(event)
    if (entry) this.#activity.happen(entry)
    else if ('message' in event) this.#write(toText(event.message))
    else if ('task' in event) this.#showTask(event.task)
    else if ('statusUpdate' in event) this.#showStatus(event.statusUpdate.status)
    else this.#showArtifact(event.artifactUpdate.artifact, event.artifactUpdate.append ?? false)
    if (!this.#prose.isOpen) this.#activity.tell()
  }

  end(): void {
    this.#activity.stop()
    this.#endLine()
  }

  #write(text: string): void {
    if (text === '') return
    this.#activity.answer()
    this.#prose.write(text)
  }

  #endLine(): void {
    this.#prose.end()
    this.#activity.tell()
  }

  #note(text: string): void {
    if (!this.#waits) this.#endLine()
    this.#activity.note([dim(text)])
  }

  #showTask({ artifacts = [], status }: Task): void {
    for (const artifact of artifacts)
      if (!this.#isKnown(artifact)) this.#showArtifact(artifact, false)
    this.#showMessage(status)
  }

  #showStatus(status: TaskStatus): void {
    this.#showMessage(status)
    if (!/FAILED|REJECTED|CANCELED/.test(status.state)) return
    this.#endLine()
    this.#note(`[${stateName(status.state)}]`)
  }

  #showArtifact({ artifactId, parts }: Artifact, append: boolean): void {
    const isOther = artifactId !== this.#artifactId || !append
    if (this.#artifactId !== undefined && isOther) this.#endLine()
    this.#artifactId = artifactId
    this.#write(parts.map(partText).join(''))
  }

  #isKnown({ artifactId: id, parts }: Artifact): boolean {
    const known = this.#before?.artifacts?.find(({ artifactId }) => artifactId === id)
    return known?.parts.length === parts.length
  }

  #showMessage({ message, state }: TaskStatus): void {
    if (!message || message.messageId === this.#before?.status.message?.messageId) return
    const text = toText(message)
    if (state === 'TASK_STATE_WORKING' || state === 'TASK_STATE_SUBMITTED') {
      if (!this.#activity.hasSaid(text)) this.#note(text)
      return
    }
    this.#endLine()
    this.#write(text)
  }
}

/** An entry of the trace travels as a status that changes nothing. */
function entryOf(event: StreamResponse): JsonObject | undefined {
  return 'statusUpdate' in event ? entryIn(event.statusUpdate.metadata) : undefined
}

function toText({ parts }: Message): string {
  return parts.map(partText).join('')
}

/** What is said of a task beside its answer: where it stands, and how to go on with it. */
export function aboutTask({ id, contextId, status }: Task, url: string): string {
  const line = toPrintableLine(`task ${id} ${stateName(status.state)}, context ${contextId}`)
  if (status.state !== 'TASK_STATE_INPUT_REQUIRED') return line
  return `${line}\nAnswer it with: corral send ${url} "…" --task ${toPrintableLine(id)}`
}

/** 0 for a task that is well: done, under way, or waiting for an answer. */
export function exitCodeOfTask({ status: { state } }: Task): number {
  return /FAILED|REJECTED|CANCELED|AUTH_REQUIRED/.test(state) ? 1 : 0
}
