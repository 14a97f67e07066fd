import type { AgentEvent, ChunkOptions, Turn } from '../agents/agent.ts'
import { responseArtifact } from '../agents/reply.ts'
import { toRefusal } from '../agents/tools.ts'
import { toUsageMetadata, type Usage, usageOf } from '../protocol/extensions.ts'
import { textOf } from '../protocol/task.ts'
import type { Artifact, StreamResponse, TaskArtifactUpdateEvent } from '../protocol/types.ts'
import type { Budget, CallAccount } from './budget.ts'
import { replyParts } from './reply.ts'
import type { MemberReply } from './schedulers/scheduler.ts'

/**
 * When a member's words go out: `now`, as they come; as `prose`, once they begin otherwise than JSON does and so are
 * hardly a routing decision; or at the `end`, when it is known whether they are one.
 */
export type Release = 'now' | 'prose' | 'end'

/** Where a run's answer goes: to the caller, live where a member's words are the answer. */
export interface TeamOutput {
  /** Says what is going on, as a status text. */
  progress(text: string): Promise<void>
  /** Passes a member's events on as they happen. */
  live(release: Release, account: CallAccount): Live
  /** Gives the caller the run's answer, unless the caller has already heard it live. */
  deliver(reply: MemberReply): Promise<void>
  /** A member's question as the caller may see it. */
  toQuestion(reply: MemberReply): MemberReply | Promise<MemberReply>
  /** Asks the caller what a member asked. */
  ask(reply: MemberReply): Promise<void>
  /** Ends the task as rejected, because the user did not approve. */
  refuse(reason: string): Promise<void>
  /** Ends the answer, with what the run used. */
  complete(used: Usage | undefined): Promise<void>
}

/** One member's words on their way to the caller. */
export interface Live {
  /** Returns undefined where there is nothing to wait for. */
  onEvent(event: StreamResponse): Promise<void> | undefined
  /** A further try of the member begins: its first chunk replaces what the failed one left. */
  restart(): void
  /** The reply that these words make up. */
  finish(reply: MemberReply): void
}

/** Makes the output of one run; the budget knows what has been used so far. */
export function createTeamOutput(
  turn: Turn,
  budget: Pick<Budget, 'used'>,
  emit: (event: AgentEvent) => Promise<void>,
): TeamOutput {
  let heard: MemberReply | undefined

  return {
    progress: (text) => emit(turn.status('TASK_STATE_WORKING', text)),
    live: (release, account) =>
      createLive({ turn, budget, emit, account, release }, (reply) => {
        heard = reply
      }),
    async deliver(reply) {
      if (heard === reply) return
      for (const event of toArtifacts(turn, reply, budget.used)) await emit(event)
    },
    toQuestion: (reply) => reply,
    async ask(reply) {
      const { state, metadata } = reply
      const parts = reply.message?.parts ?? replyParts(reply)
      const words = turn.reply(parts.length > 0 ? parts : 'More input is needed')
      // The member's own id: it tells the answer's turn which question the task waits with.
      const question = reply.message ? { ...words, messageId: reply.message.messageId } : words
      await emit({
        statusUpdate: {
          status: { state, message: { ...question, ...(metadata && { metadata }) } },
        },
      })
    },
    refuse: (reason) => emit(toRefusal(turn, reason)),
    async complete(used) {
      const status = { state: 'TASK_STATE_COMPLETED' } as const
      await emit({ statusUpdate: { status, ...(used && { metadata: toUsageMetadata(used) }) } })
    },
  }
}

type LiveOptions = {
  readonly turn: Turn
  readonly budget: Pick<Budget, 'used'>
  readonly emit: (event: AgentEvent) => Promise<void>
  readonly account: CallAccount
  readonly release: Release
}

type Chunk = Pick<TaskArtifactUpdateEvent, 'artifact' | 'append' | 'lastChunk' | 'metadata'>

/**
 * The first chunk of an artifact replaces what an attempt before a crash, or a failed try, may have left of it. A reply of
 * which the caller has heard something is `onHeard`.
 */
function createLive(
  { turn, budget, emit, account, release }: LiveOptions,
  onHeard: (reply: MemberReply) => void,
): Live {
  let response = responseName(turn)
  let begun = new Set<string>()
  let name = createNaming(response)
  let held: StreamResponse[] = []
  let flows = release === 'now'

  const chunk = async (update: Chunk): Promise<void> => {
    if (begun.size === 0 && turn.number > 1) {
      response = await goesOnIn(turn, update.artifact)
      name = createNaming(response)
    }
    const artifact = name(update.artifact)
    const { artifactId } = artifact
    const append = update.append === true && begun.has(artifactId)
    begun.add(artifactId)
    const own = usageOf(artifact.metadata)
    if (own) account.told(own)
    const total = artifactId === response && (own || !append) && budget.used
    await emit(
      turn.artifact(total ? telling(artifact, total) : artifact, { ...optionsOf(update), append }),
    )
  }
  const forward = async (event: StreamResponse): Promise<void> => {
    if ('artifactUpdate' in event) await chunk(event.artifactUpdate)
    else if ('task' in event)
      for (const artifact of event.task.artifacts ?? []) await chunk({ artifact })
    else if ('statusUpdate' in event && event.statusUpdate.status.state === 'TASK_STATE_WORKING') {
      const { message } = event.statusUpdate.status
      if (message) await emit(turn.status('TASK_STATE_WORKING', textOf(message.parts)))
    }
  }

  return {
    restart() {
      begun = new Set()
      name = createNaming(response)
      held = []
      flows = release === 'now'
    },
    async onEvent(event) {
      if (!flows) held.push(event)
      if (!flows && release === 'prose') flows = isProse(held)
      if (!flows) return
      const ready = held.length > 0 ? held : [event]
      held = []
      for (const one of ready) await forward(one)
    },
    finish(reply) {
      if (begun.size > 0) onHeard(reply)
    },
  }
}

function responseName(turn: Turn): string {
  // To look at the task and its history costs a copy, and a first turn has none.
  if (turn.number === 1 || !turn.task) return responseArtifact
  const kept = keptPlace(turn)
  if (kept !== undefined) return kept
  // A turn that runs again after a crash finds its own message in the history.
  const earlier = turn.history.filter(
    ({ role, messageId }) => role === 'ROLE_USER' && messageId !== turn.message.messageId,
  )
  return earlier.length > 0 ? `${responseArtifact}-${earlier.length + 1}` : responseArtifact
}

const placeKey = 'response'

/** Where an earlier attempt of this turn has put its answer. */
function keptPlace(turn: Turn): string | undefined {
  const kept = turn.load(placeKey)
  if (typeof kept !== 'object' || kept === null || !('artifactId' in kept)) return undefined
  return kept.turn === turn.number ? String(kept.artifactId) : undefined
}

/**
 * Gives a member's artifacts their names in the team's task. The first one is the team's `response`, whatever the member
 * calls it, so that words which turn out to be a decision are replaced by the next member's; the answer of a later turn
 * is `response-2` and so on, as the engine names plain answers; the others keep their names.
 */
function createNaming(response: string): (artifact: Artifact) => Artifact {
  let first: string | undefined
  return (artifact) => {
    first ??= artifact.artifactId
    if (artifact.artifactId === first) return { ...artifact, artifactId: response }
    if (artifact.artifactId !== response) return artifact
    return { ...artifact, artifactId: `${response}-other` }
  }
}

/**
 * Where a later turn's answer stands: in the artifact of an earlier one where it begins with all that was said there, as a
 * model does after a question about one of its tools. What was said is then not said a second time. That is kept, since a
 * turn that runs again finds its own words there.
 */
async function goesOnIn(turn: Turn, { parts }: Artifact): Promise<string> {
  const own = responseName(turn)
  const last = turn.task?.artifacts?.findLast(({ artifactId }) => isResponse(artifactId))
  if (!last || last.artifactId === own || !last.parts.every((part) => 'text' in part)) return own
  const said = textOf(last.parts)
  if (said === '' || !textOf(parts).startsWith(said)) return own
  await turn.save(placeKey, { turn: turn.number, artifactId: last.artifactId })
  return last.artifactId
}

function isResponse(artifactId: string): boolean {
  return artifactId === responseArtifact || /^response-\d{1,9}$/.test(artifactId)
}

/** The artifact with the tokens of the whole run in its metadata, instead of its member's own. */
function telling(artifact: Artifact, total: Usage): Artifact {
  return { ...artifact, metadata: { ...artifact.metadata, ...toUsageMetadata(total) } }
}

function optionsOf({ lastChunk, metadata }: Chunk): Pick<ChunkOptions, 'lastChunk' | 'metadata'> {
  return { ...(lastChunk !== undefined && { lastChunk }), ...(metadata && { metadata }) }
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

function toArtifacts(
  turn: Turn,
  reply: MemberReply,
  used: Usage | undefined,
): readonly AgentEvent[] {
  const response = responseName(turn)
  const name = createNaming(response)
  const parts = replyParts(reply)
  const plain = { artifactId: responseArtifact, name: responseArtifact, parts }
  const artifacts = reply.artifacts?.length ? reply.artifacts : [plain]
  return artifacts
    .filter((artifact) => artifact.parts.length > 0)
    .map((artifact) => {
      const named = name(artifact)
      const isCounted = used && named.artifactId === response
      return turn.artifact(isCounted ? telling(named, used) : named, { lastChunk: true })
    })
}

/** Carries items from running work to one reader. A full channel makes its writers wait. */
interface Channel<T> {
  /** Resolves when there is room again; at once after the end, when items go nowhere. */
  push(item: T): Promise<void>
  /**
   * All that waits, as soon as there is something; nothing at the end. Items come together, not one by one: each
   * promise between a member's words and the caller counts.
   * @throws what the channel failed with, after what was said before.
   */
  take(): Promise<readonly T[]>
  /** No more items: the reader ends after those that are waiting, or has left. */
  close(): void
  /** The reader gets what is waiting, then this error. */
  fail(error: unknown): void
}

const room: Promise<void> = Promise.resolve()

/** Makes a channel that holds at most `bound` items before its writers wait. */
export function createChannel<T>(bound: number): Channel<T> {
  let waiting: T[] = []
  let end: { readonly error?: unknown } | undefined
  let wakeReader: (() => void) | undefined
  let writersWait: Promise<void> | undefined
  let wakeWriters: (() => void) | undefined

  function setWritersFree(): void {
    wakeWriters?.()
    writersWait = wakeWriters = undefined
  }

  function finish(how: { readonly error?: unknown }): void {
    end ??= how
    wakeReader?.()
    setWritersFree()
  }

  return {
    push(item) {
      if (end) return room
      waiting.push(item)
      wakeReader?.()
      if (waiting.length < bound) return room
      writersWait ??= new Promise((resolve) => (wakeWriters = resolve))
      return writersWait
    },
    async take() {
      if (waiting.length === 0 && !end) {
        await new Promise<void>((resolve) => (wakeReader = resolve))
        wakeReader = undefined
      }
      const items = waiting
      waiting = []
      setWritersFree()
      if (items.length === 0 && end && 'error' in end) throw end.error
      return items
    },
    close: () => finish({}),
    fail: (error) => finish({ error }),
  }
}
