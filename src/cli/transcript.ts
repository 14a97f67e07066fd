import {
  type Artifact,
  createFold,
  type Fold,
  type Message,
  type StreamResponse,
  type Task,
} from '../index.ts'
import { toPrintableLine } from '../shared/text.ts'
import { dim, type Screen } from './screen.ts'
import { partText, stateName } from './text.ts'

/** Shows what an agent says as it comes, and remembers where the conversation stands. */
export interface Transcript {
  show(event: StreamResponse): void
  /** Ends the line that is open. */
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
}

/** Makes a transcript. */
export function createTranscript(options: TranscriptOptions): Transcript {
  const { out, about, json = false, before } = options
  let fold: Fold | undefined
  let lone: Message | undefined
  let artifactId: string | undefined
  let openLine = false

  function write(text: string): void {
    if (text === '') return
    out.write(text)
    openLine = !text.endsWith('\n')
  }

  function end(): void {
    if (openLine) out.write('\n')
    openLine = false
  }

  function note(text: string): void {
    end()
    about.write(dim(text), '\n')
  }

  function showTask(task: Task): void {
    for (const artifact of task.artifacts ?? []) {
      if (isKnown(artifact)) continue
      if (artifactId !== undefined) end()
      artifactId = artifact.artifactId
      write(artifact.parts.map(partText).join(''))
    }
    showMessage(task.status.message, task.status.state)
  }

  function isKnown({ artifactId: id, parts }: Artifact): boolean {
    const known = before?.artifacts?.find((artifact) => artifact.artifactId === id)
    return known?.parts.length === parts.length
  }

  function showMessage(message: Message | undefined, state: Task['status']['state']): void {
    if (!message || message.messageId === before?.status.message?.messageId) return
    const text = message.parts.map(partText).join('')
    if (state === 'TASK_STATE_WORKING' || state === 'TASK_STATE_SUBMITTED') note(text)
    else {
      end()
      write(text)
    }
  }

  function showEvent(event: StreamResponse): void {
    if ('message' in event) write(event.message.parts.map(partText).join(''))
    else if ('task' in event) showTask(event.task)
    else if ('statusUpdate' in event) {
      const { state, message } = event.statusUpdate.status
      showMessage(message, state)
      if (/FAILED|REJECTED|CANCELED/.test(state)) note(`[${stateName(state)}]`)
    } else {
      const { artifact, append } = event.artifactUpdate
      if (artifactId !== undefined && (artifact.artifactId !== artifactId || !append)) end()
      artifactId = artifact.artifactId
      write(artifact.parts.map(partText).join(''))
    }
  }

  return {
    show(event) {
      if ('message' in event) lone = event.message
      else if ('task' in event) fold = createFold(event.task)
      else fold?.apply(event)
      if (json) out.write(`${JSON.stringify(event)}\n`)
      else showEvent(event)
    },
    end,
    task: () => fold?.snapshot(),
    contextId: () => fold?.snapshot().contextId ?? lone?.contextId,
  }
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
