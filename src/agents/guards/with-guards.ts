import { A2AError } from '../../protocol/errors.ts'
import {
  addUsage,
  historyExtension,
  toolCallsOf,
  toUsageMetadata,
  type Usage,
  usageOf,
} from '../../protocol/extensions.ts'
import {
  answerParts,
  createFold,
  type Fold,
  isInterrupted,
  isTerminal,
} from '../../protocol/task.ts'
import type {
  Artifact,
  Json,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskState,
  TaskStatusUpdateEvent,
} from '../../protocol/types.ts'
import { isAsyncIterable, withSignal } from '../../shared/async.ts'
import { digestOf } from '../../shared/ids.ts'
import { isFields } from '../../shared/json.ts'
import type { Agent, AgentEvent, AgentReply, Turn } from '../agent.ts'
import { type ReplyPlace, readAgentAnswer, readAgentEvent, responseArtifact } from '../reply.ts'
import { type AskAgent, askAside, WrappedTurn, wrapAgent } from '../wrap.ts'
import { namesOf, readGuards } from './built-in.ts'
import {
  ContentBlocked,
  DiscreetTurn,
  GuardCheck,
  type GuardPlace,
  type VerdictAnswer,
  type VerdictQuestion,
  verdictSchema,
} from './check.ts'
import type { Guards } from './guard.ts'
import { isUnguarded } from './ready.ts'

/**
 * The agent under guards. Its messages are what the guards of its input leave of them; what it says is held back until
 * the guards of its output have looked at it. It throws ContentBlocked where one of them blocks.
 */
export function withGuards(agent: Agent, place: GuardPlace | undefined): Agent {
  if (!place || isUnguarded(place.guards)) return agent
  return wrapAgent(agent, {
    process: (ask, message, turn) => guardedAnswer(place, ask, message, turn),
    guardNames: namesOf(place.guards),
    // Requests that the agent answers by itself would go past its guards.
    dispatch: undefined,
  })
}

/** What an agent answers under guards. @throws ContentBlocked */
export async function* guardedAnswer(
  place: GuardPlace,
  ask: AskAgent,
  message: Message,
  turn: Turn,
): AsyncGenerator<AgentEvent> {
  const input = new GuardCheck('input', turn, place)
  const seen = await guardInput(input, message, turn)
  const output = new GuardCheck('output', turn, place)
  output.usage = input.usage
  if (output.isNeeded) {
    const discreet = new DiscreetTurn(seen, (entry) => output.discreet(entry))
    yield* checked(() => ask(discreet, seen.message), seen, output)
  } else yield* eventsOf(ask(seen, seen.message), new HeldReply(seen, output), seen)
}

/**
 * The turn as the guards of the input leave it: its message, and earlier ones, which the log has as the user sent them.
 * @throws ContentBlocked
 */
export async function guardInput(check: GuardCheck, message: Message, turn: Turn): Promise<Turn> {
  if (!check.isNeeded) return turn
  const guarded = new GuardedTurn(turn, check)
  await guarded.begin(message)
  return guarded
}

/**
 * A turn in which every message is what the guards of the input have left of it, the earlier ones too. What was decided
 * of earlier messages stays with the conversation, under their content: copies have other ids.
 */
class GuardedTurn extends WrappedTurn {
  readonly #check: GuardCheck
  /** What was left of earlier messages, by the JSON of their parts. */
  readonly #known = new Map<string, readonly Part[]>()
  #message: Message

  constructor(outer: Turn, check: GuardCheck) {
    super(outer)
    this.#check = check
    this.#message = outer.message
  }

  override get message(): Message {
    return this.#message
  }
  override get task(): Task | undefined {
    const task = super.task
    return task?.history ? { ...task, history: this.#seen(task.history) } : task
  }
  override get history(): readonly Message[] {
    return this.#seen(super.history)
  }
  override async conversation(limit: number): Promise<readonly Message[]> {
    const messages = await super.conversation(limit)
    await this.#learn(messages)
    return this.#seen(messages)
  }

  /** Has the guards look at the message of the turn. @throws ContentBlocked */
  async begin(message: Message): Promise<void> {
    const parts = await this.#decide(message.parts)
    const { metadata } = message
    const noted = metadata && (await guardHistory(this.#check, await this.#check.notes(metadata)))
    this.#message = { ...message, parts, ...(noted && { metadata: noted }) }
    await this.#learn(super.history)
  }

  async #decide(given: readonly Part[]): Promise<readonly Part[]> {
    try {
      const left = await this.#check.parts(given, 'message')
      await this.#keep(given, left)
      return left
    } catch (thrown) {
      if (thrown instanceof ContentBlocked) await this.#keep(given, [])
      throw thrown
    }
  }

  /** Keeps what was decided of a message by guards that might decide otherwise another time. */
  async #keep(given: readonly Part[], left: readonly Part[]): Promise<void> {
    if (!this.#check.decides || left === given) return
    const kept: object = { parts: left }
    super.context.set(await this.#keyOf(given), kept as JsonObject) // parts are JSON
  }

  /** Looks up what was decided of earlier messages. */
  async #learn(messages: readonly Message[]): Promise<void> {
    const isKept = this.#check.decides && super.number > 1
    for (const { role, parts } of messages) {
      if (role !== 'ROLE_USER') continue
      const value = isKept ? await super.context.get(await this.#keyOf(parts)) : undefined
      const kept = isFields(value) && Array.isArray(value.parts) ? value.parts : undefined
      if (kept) this.#known.set(JSON.stringify(parts), kept) // parts, as they were kept
      await this.#check.prepare(kept ?? parts)
    }
  }

  async #keyOf(parts: readonly Part[]): Promise<string> {
    return `corral:guards:${await digestOf([this.#check.owner, parts])}`
  }

  /** Messages as the guards left them, without those that they blocked. */
  #seen(messages: readonly Message[]): readonly Message[] {
    return messages.flatMap((message) => {
      if (message.role !== 'ROLE_USER') return message
      const known = this.#known.size > 0 && this.#known.get(JSON.stringify(message.parts))
      const parts = this.#check.again(known || message.parts)
      if (!parts?.length) return []
      return parts === message.parts ? message : { ...message, parts }
    })
  }
}

/**
 * The metadata of a message with what guards leave of the earlier turns that its client sends along. They may be made up,
 * so each is looked at, of every role. Where a guard would put something in their place they are left out.
 * @throws ContentBlocked
 */
async function guardHistory(check: GuardCheck, metadata: JsonObject): Promise<JsonObject> {
  const history = metadata[historyExtension]
  if (!isFields(history) || !Array.isArray(history.messages)) return metadata
  const given: readonly Json[] = history.messages
  const messages: Json[] = []
  for (const message of given)
    if (!isFields(message) || typeof message.content !== 'string') messages.push(message)
    else messages.push({ ...message, content: await check.words(message.content) })
  const isKept = !check.decides || (await passes(check, messages))
  return { ...metadata, [historyExtension]: { ...history, messages: isKept ? messages : [] } }
}

async function passes(check: GuardCheck, messages: readonly Json[]): Promise<boolean> {
  const texts = messages.flatMap((message) =>
    isFields(message) && typeof message.content === 'string' ? [message.content] : [],
  )
  if (texts.length === 0) return true
  const given = [{ text: texts.join('\n\n') }]
  return (await check.parts(given, 'history')) === given
}

/** Passes on what is going on, and the rest when everything has been said. */
async function* checked(
  reply: () => AgentReply,
  turn: Turn,
  check: GuardCheck,
): AsyncGenerator<AgentEvent> {
  const held = new HeldReply(turn, check)
  try {
    for await (const event of eventsOf(reply(), held, turn)) {
      const read = readAgentEvent(event, held)
      if ('statusUpdate' in read && isProgress(read.statusUpdate.status.state))
        yield* going(read.statusUpdate, check)
      else if (held.take(read)) break
    }
    yield* held.released()
  } catch (thrown) {
    throw await toGuarded(thrown, check, held.usage)
  }
}

function isProgress(state: TaskState): boolean {
  return !isTerminal(state) && state !== 'TASK_STATE_INPUT_REQUIRED'
}

/** Words on what is going on. Where an agent is asked for verdicts they are left out: each would cost a question. */
async function* going(
  update: TaskStatusUpdateEvent,
  check: GuardCheck,
): AsyncGenerator<AgentEvent> {
  const { status, metadata } = update
  const { state, message } = status
  const isAsked = state === 'TASK_STATE_AUTH_REQUIRED'
  const isShown = message && (isAsked || !check.asksMembers)
  const parts = isShown && (await check.parts(message.parts, isAsked ? 'question' : 'status'))
  const noted = message?.metadata && (await check.notes(message.metadata))
  yield {
    statusUpdate: {
      status: {
        state,
        ...(parts && { message: { ...message, parts, ...(noted && { metadata: noted }) } }),
      },
      ...(metadata && { metadata: await check.notes(metadata) }),
    },
  }
}

/** Leaves an agent that does not listen to its signal, and tells one that is left before its end. */
async function* eventsOf(
  reply: AgentReply,
  place: ReplyPlace,
  turn: Turn,
): AsyncGenerator<AgentEvent> {
  if (!isAsyncIterable(reply)) {
    const whole = await withSignal(Promise.resolve(reply), turn.signal)
    if (isUnfinished(whole))
      throw new A2AError(
        'invalidAgentResponse',
        'An agent under guards cannot finish its task later',
      )
    if (whole !== undefined) yield readAgentAnswer(whole, place)
    return
  }
  // The contract's only iterable.
  const events = (reply as AsyncIterable<AgentEvent>)[Symbol.asyncIterator]()
  let hasEnded = false
  try {
    while (true) {
      const next = await withSignal(events.next(), turn.signal)
      hasEnded = next.done === true
      if (next.done) return
      yield next.value
    }
  } finally {
    if (!hasEnded) void Promise.resolve(events.return?.()).catch(() => {})
  }
}

function isUnfinished(answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null || !('task' in answer)) return false
  const state: unknown = Reflect.get(Object(Reflect.get(Object(answer.task), 'status')), 'state')
  return state === 'TASK_STATE_WORKING' || state === 'TASK_STATE_SUBMITTED'
}

/** A failure's words are words of the agent's too, and what it has cost by then is told with a block. */
async function toGuarded(
  thrown: unknown,
  check: GuardCheck,
  used: Usage | undefined,
): Promise<unknown> {
  if (thrown instanceof ContentBlocked) {
    const { message, at, usage, cause } = thrown
    return new ContentBlocked(message, { at, usage: addUsage(usage, used), cause })
  }
  if (!(thrown instanceof A2AError)) return thrown
  const words = await check.words(thrown.message)
  if (words === thrown.message) return thrown
  return new A2AError(thrown.code, words, { ...thrown.details, cause: thrown })
}

/** What an agent says, held back until its guards have looked at it. */
class HeldReply implements ReplyPlace {
  readonly taskId: string
  readonly contextId: string
  readonly responseId: string
  hasResponse = false
  readonly #turn: Turn
  readonly #check: GuardCheck
  readonly #fold: Fold
  #lone: Message | undefined
  /** Of events, not of what they bring. */
  #metadata: JsonObject | undefined

  constructor(turn: Turn, check: GuardCheck) {
    const { taskId: id, contextId, number } = turn
    this.taskId = id
    this.contextId = contextId
    this.responseId = number === 1 ? responseArtifact : `${responseArtifact}-${number}`
    this.#turn = turn
    this.#check = check
    this.#fold = createFold({ id, contextId, status: { state: 'TASK_STATE_WORKING' } })
  }

  /** Takes in an event; true where nothing more is wanted. */
  take(event: StreamResponse): boolean {
    if ('message' in event) {
      this.#lone = event.message
      return true
    }
    this.#fold.apply(event)
    this.#note('task' in event ? event.task.metadata : Object.values(event)[0]?.metadata)
    return this.hasEnded
  }

  get hasEnded(): boolean {
    return !isProgress(this.#fold.state)
  }

  /** What the answer has cost. */
  get usage(): Usage | undefined {
    const { artifacts = [], status } = this.#fold.snapshot()
    const whole = usageOf(this.#metadata) ?? usageOf((this.#lone ?? status.message)?.metadata)
    if (whole) return whole
    return artifacts.reduce<Usage | undefined>(
      (sum, { metadata }) => addUsage(sum, usageOf(metadata)),
      undefined,
    )
  }

  /** What the guards have left, as events. @throws ContentBlocked */
  async *released(): AsyncGenerator<AgentEvent> {
    if (this.#lone) {
      yield await this.#message(this.#lone, 'answer')
      return
    }
    this.#fold.compact()
    const { artifacts = [], status } = this.#fold.snapshot()
    const { state, message } = status
    const isAnswer = state === 'TASK_STATE_COMPLETED' || !this.hasEnded
    const words = isAnswer && message ? [message.parts] : []
    const pieces = [...artifacts.map(({ parts }) => parts), ...words]
    const left = this.#saysNothing(artifacts, pieces)
      ? pieces
      : await checkPieces(this.#check, pieces)
    for (const [index, artifact] of artifacts.entries()) {
      const parts = left[index]
      if (parts)
        yield this.#turn.artifact(await checkArtifact(this.#check, artifact, parts), {
          lastChunk: true,
        })
    }
    const said = message && (await this.#last(message, { isAnswer, parts: left[artifacts.length] }))
    const metadata = await this.#total()
    yield {
      statusUpdate: {
        status: {
          state: this.hasEnded ? state : 'TASK_STATE_COMPLETED',
          ...(said && { message: said }),
        },
        ...(metadata && { metadata }),
      },
    }
  }

  /** A question, or a call of the client's tools, comes without an answer. */
  #saysNothing(artifacts: readonly Artifact[], pieces: readonly (readonly Part[])[]): boolean {
    if (pieces.some(({ length }) => length > 0)) return false
    const calls = artifacts.some(({ metadata }) => metadata && toolCallsOf(metadata)?.length)
    return calls || (this.hasEnded && this.#fold.state !== 'TASK_STATE_COMPLETED')
  }

  async #last(
    message: Message,
    {
      isAnswer,
      parts,
    }: { readonly isAnswer: boolean; readonly parts: readonly Part[] | undefined },
  ): Promise<Message | undefined> {
    if (isAnswer) return parts && this.#noted({ ...message, parts })
    return this.#message(message, isInterrupted(this.#fold.state) ? 'question' : 'status')
  }

  async #message(message: Message, kind: 'answer' | 'question' | 'status'): Promise<Message> {
    return this.#noted({ ...message, parts: await this.#check.parts(message.parts, kind) })
  }

  async #noted(message: Message): Promise<Message> {
    const { metadata } = message
    return metadata ? { ...message, metadata: await this.#check.notes(metadata) } : message
  }

  /** The tokens of those who were asked for verdicts are the answer's too. */
  async #total(): Promise<JsonObject | undefined> {
    const { usage } = this.#check
    const total = usage && addUsage(usage, this.usage)
    const own = this.#metadata && (await this.#check.notes(this.#metadata))
    return total ? { ...own, ...toUsageMetadata(total) } : own
  }

  #note(metadata: JsonObject | undefined): void {
    if (metadata) this.#metadata = this.#metadata ? { ...this.#metadata, ...metadata } : metadata
  }
}

/**
 * What guards leave of the pieces of one answer, such as its artifacts. They are looked at together; what a guard puts
 * in their place stands in the first, and the others are gone.
 * @throws ContentBlocked
 */
export async function checkPieces(
  check: GuardCheck,
  pieces: readonly (readonly Part[])[],
): Promise<readonly (readonly Part[] | undefined)[]> {
  const given = pieces.flat()
  const left = await check.parts(given, 'answer')
  if (left === given) return pieces
  if (left.length !== given.length) return [left]
  let from = 0
  return pieces.map(({ length }) => {
    from += length
    return left.slice(from - length, from)
  })
}

/** An artifact with what guards have left of its parts; its names and notes are looked at here. @throws ContentBlocked */
export async function checkArtifact(
  check: GuardCheck,
  artifact: Artifact,
  parts: readonly Part[],
): Promise<Artifact> {
  const { name, description, metadata } = artifact
  return {
    ...artifact,
    parts,
    ...(name !== undefined && { name: await check.words(name) }),
    ...(description !== undefined && { description: await check.words(description) }),
    ...(metadata && { metadata: await check.notes(metadata) }),
  }
}

/**
 * Guards that a program gives to an agent. It knows no other agents, so none can be asked.
 * @throws GuardFault that names the first guard that cannot be.
 */
export function ownGuards(id: string, guards: Guards | undefined): GuardPlace | undefined {
  if (!guards) return undefined
  const askMember = (): Promise<never> => Promise.reject(new Error('nobody can be asked'))
  return { guards: readGuards(guards), owner: { agent: id }, askMember }
}

/**
 * Asks agents of a file for verdicts, within the turn of the agent that they guard. A durable step: one that has answered
 * is not asked again about the same content after a crash.
 */
export function askAgents(
  agentOf: (id: string) => Agent | undefined,
): (question: VerdictQuestion, turn: Turn) => Promise<VerdictAnswer> {
  return async ({ member, parts, name }, turn) => {
    const agent = agentOf(member)
    if (!agent) throw new A2AError('agentUnavailable', `Agent "${member}" is not registered`)
    const space = `guard.${name}:${member}`
    const { signal } = turn
    const answer = await turn.step(space, async () => {
      const asked = askAside(agent, parts, { turn, space, signal, outputSchema: verdictSchema })
      const verdict: object = answerOf(await withSignal(asked, signal), member)
      return verdict as Json // parts and numbers
    })
    const stored: object = Object(answer)
    return stored as VerdictAnswer // as this step returned it
  }
}

function answerOf(task: Task, member: string): VerdictAnswer {
  const { state } = task.status
  if (isInterrupted(state) || (isTerminal(state) && state !== 'TASK_STATE_COMPLETED'))
    throw new A2AError('processingError', `Agent "${member}" gave no verdict`)
  const usage = (task.artifacts ?? []).reduce<Usage | undefined>(
    (sum, { metadata }) => addUsage(sum, usageOf(metadata)),
    usageOf(task.status.message?.metadata),
  )
  return { parts: answerParts(task), ...(usage && { usage }) }
}
