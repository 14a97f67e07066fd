import { A2AError } from '../protocol/errors.ts'
import { canTransition, isTerminal } from '../protocol/task.ts'
import type { StreamResponse, Task, TaskState } from '../protocol/types.ts'

/**
 * State and artifacts of a task with everything that has come in, stored or not: what the next event is checked against.
 * A class, not closures: one is made per request.
 */
export class Standing {
  readonly #taskId: string
  #state: TaskState = 'TASK_STATE_UNSPECIFIED'
  /** The artifact that came last, which chunks mostly continue; those before it, where there are any. */
  #artifact: string | undefined
  #artifacts: Set<string> | undefined

  constructor(taskId: string) {
    this.#taskId = taskId
  }

  get state(): TaskState {
    return this.#state
  }

  /** Whether there is a task; before its first event there is none. */
  get exists(): boolean {
    return this.#state !== 'TASK_STATE_UNSPECIFIED'
  }

  /**
   * Takes in an event.
   * @throws A2AError `invalidAgentResponse` where it may not follow what there is.
   */
  take(event: StreamResponse): void {
    if ('statusUpdate' in event) this.#enter(event.statusUpdate.status.state)
    else if ('artifactUpdate' in event) this.#note(event.artifactUpdate)
    else if ('task' in event) {
      if (this.exists) throw invalid(`A second Task for task ${this.#taskId}`)
      this.load(event.task)
    }
  }

  /**
   * Takes in a whole task in place of the one there is.
   * @throws A2AError `invalidAgentResponse` for a state that may not follow.
   */
  replace(task: Task): void {
    this.#enter(task.status.state)
    this.#artifact = undefined
    this.#artifacts = undefined
    this.load(task)
  }

  /** Begins with a task as it is. */
  load({ status, artifacts }: Task): void {
    this.#state = status.state
    if (artifacts) for (const { artifactId } of artifacts) this.#know(artifactId)
  }

  #know(id: string): void {
    if (this.#artifact !== undefined && this.#artifact !== id) {
      this.#artifacts ??= new Set()
      this.#artifacts.add(this.#artifact)
    }
    this.#artifact = id
  }

  #enter(next: TaskState): void {
    if (!canTransition(this.#state, next))
      throw invalid(`Task ${this.#taskId} cannot go from ${this.#state} to ${next}`)
    this.#state = next
  }

  #note({ artifact, append }: { artifact: { artifactId: string }; append?: boolean }): void {
    if (isTerminal(this.#state))
      throw invalid(`Artifact after ${this.#state}: task ${this.#taskId}`)
    const { artifactId } = artifact
    if (!append) this.#know(artifactId)
    else if (artifactId !== this.#artifact && !this.#artifacts?.has(artifactId))
      throw invalid(`Chunk of unknown artifact ${artifactId}`)
  }
}

function invalid(message: string): A2AError {
  return new A2AError('invalidAgentResponse', message)
}
