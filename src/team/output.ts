import type { AgentEvent, Turn } from '../agents/agent.ts'
import { textOf } from '../protocol/task.ts'
import type { Artifact, StreamResponse, TaskArtifactUpdateEvent } from '../protocol/types.ts'
import { toUsageMetadata, type Usage } from '../protocol/usage.ts'
import { type MemberReply, replyParts, responseArtifact } from './reply.ts'

/** Where a run's answer goes: to the caller, live where a member's words are the answer. */
export interface Output {
  /** Says what is going on, as a status text. */
  progress(text: string): Promise<void>
  /** Passes a member's events on as they happen; `delivered` then counts as given to the caller. */
  live(hold: Hold): Live
  /** Gives the caller the run's answer, unless the caller has already heard it live. */
  deliver(reply: MemberReply): Promise<void>
  /** Asks the caller what a member asked. */
  ask(reply: MemberReply): Promise<void>
  /** Ends the task as rejected. */
  refuse(reason: string): Promise<void>
  /** Ends the answer, with the tokens that the run used. */
  complete(used: Usage | undefined): Promise<void>
}

/**
 * When a member's words may go out at once: always, or not before it is clear that they are no routing decision
 * (`text`: once they begin otherwise than JSON does; `all`: only when they are complete).
 */
export type Hold = 'none' | 'text' | 'all'

/** One member's words on their way to the caller. */
export interface Live {
  onEvent(event: StreamResponse): Promise<void>
  /** A further try of the member begins: its first chunk replaces what the failed one left. */
  restart(): void
  /** The reply that these words make up. */
  finish(reply: MemberReply): void
}

/** Makes the output of one run. */
export function createOutput(turn: Turn, emit: (event: AgentEvent) => Promise<void>): Output {
  let heard: MemberReply | undefined

  return {
    progress: (text) => emit(turn.status('TASK_STATE_WORKING', text)),
    live(hold) {
      const live = createLive(turn, emit, hold)
      return {
        ...live,
        finish(reply) {
          if (live.flowing()) heard = reply
        },
      }
    },
    async deliver(reply) {
      if (heard === reply) return
      for (const event of toArtifacts(turn, reply)) await emit(event)
    },
    async ask({ state, message, metadata }) {
      const question = turn.reply(message?.parts ?? [])
      await emit({
        statusUpdate: {
          status: { state, message: { ...question, ...(metadata && { metadata }) } },
        },
      })
    },
    refuse: (reason) => emit(turn.status('TASK_STATE_REJECTED', reason)),
    async complete(used) {
      const status = { state: 'TASK_STATE_COMPLETED' } as const
      await emit({ statusUpdate: { status, ...(used && { metadata: toUsageMetadata(used) }) } })
    },
  }
}

/** The first chunk of an artifact replaces what an attempt before a crash, or a failed try, may have left of it. */
function createLive(
  turn: Turn,
  emit: (event: AgentEvent) => Promise<void>,
  hold: Hold,
): Omit<Live, 'finish'> & { flowing(): boolean } {
  let begun = new Set<string>()
  let held: StreamResponse[] = []
  let flows = hold === 'none'

  const forward = async (event: StreamResponse): Promise<void> => {
    if ('artifactUpdate' in event) await emit(toChunk(turn, event.artifactUpdate, begun))
    else if ('task' in event)
      for (const artifact of event.task.artifacts ?? [])
        await emit(turn.artifact(named(turn, artifact)))
    else if ('statusUpdate' in event && event.statusUpdate.status.state === 'TASK_STATE_WORKING') {
      const { message } = event.statusUpdate.status
      if (message) await emit(turn.status('TASK_STATE_WORKING', textOf(message.parts)))
    }
  }

  return {
    flowing: () => flows,
    restart() {
      begun = new Set()
      held = []
      flows = hold === 'none'
    },
    async onEvent(event) {
      if (!flows) held.push(event)
      if (!flows && hold === 'text') flows = isProse(held)
      if (!flows) return
      const ready = held.length > 0 ? held : [event]
      held = []
      for (const one of ready) await forward(one)
    },
  }
}

function toChunk(turn: Turn, update: TaskArtifactUpdateEvent, begun: Set<string>): AgentEvent {
  const { artifact, lastChunk, metadata } = update
  const append = update.append === true && begun.has(artifact.artifactId)
  begun.add(artifact.artifactId)
  return turn.artifact(named(turn, artifact), {
    append,
    ...(lastChunk !== undefined && { lastChunk }),
    ...(metadata && { metadata }),
  })
}

/** Text that begins like JSON, or like a block of code that may hold JSON, could be a decision. */
function isProse(events: readonly StreamResponse[]): boolean {
  let text = ''
  for (const event of events)
    if ('artifactUpdate' in event) {
      if (event.artifactUpdate.artifact.parts.some((part) => 'data' in part)) return false
      text += textOf(event.artifactUpdate.artifact.parts)
    }
  return /^\s*[^\s{[`]/.test(text)
}

function toArtifacts(turn: Turn, reply: MemberReply): readonly AgentEvent[] {
  if (reply.artifacts?.length)
    return reply.artifacts.map((artifact) =>
      turn.artifact(named(turn, artifact), { lastChunk: true }),
    )
  const parts = replyParts(reply)
  if (parts.length === 0) return []
  const artifact = { artifactId: responseArtifact, name: responseArtifact, parts }
  return [turn.artifact(named(turn, artifact), { lastChunk: true })]
}

/** The answer of a task's later turns stands beside that of the first one, as the engine names plain answers. */
function named(turn: Turn, artifact: Artifact): Artifact {
  const earlier = turn.task ? turn.history.filter(({ role }) => role === 'ROLE_USER') : []
  const number = earlier.length + 1
  if (artifact.artifactId !== responseArtifact || number === 1) return artifact
  return { ...artifact, artifactId: `${responseArtifact}-${number}` }
}
