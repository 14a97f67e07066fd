import { createInterface } from 'node:readline/promises'
import type { ChatMessage, ChatToolCall } from '../agents/openai/messages.ts'
import type { ModelToolCall } from '../agents/tools.ts'
import { bearerAuth } from '../client/auth/auth.ts'
import { A2AClient } from '../client/client.ts'
import { userMessage } from '../protocol/task.ts'
import type { JsonObject, Message, Task } from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import { checkArgument, checkOptions } from '../shared/options.ts'
import { toPrintable } from '../shared/text.ts'
import { fromA2A, messageIds, type NextIds, nextIds } from './agent/messages.ts'
import { type A2AConfig, exchange } from './agent/under-test.ts'
import { isJsonObject, messageOf, sortedJson, tryParseSaid } from './base.ts'
import {
  type AgentInput,
  type ConversationMessage,
  type DomainPrompts,
  type EvalTask,
  isResults,
  isToolCall,
  type ScriptedReply,
  type SpokenMessage,
  spoken,
  type ToolCall,
  type ToolDescriptor,
  type ToolMessage,
  type UserScript,
} from './domain/domain.ts'
import {
  asksForPart,
  compileWhen,
  type GoldenStep,
  goldenOpening,
  goldenSteps,
  waitingWords,
  whenFault,
} from './domain/replay.ts'
import type { TokenCount } from './metrics.ts'
import {
  type ChatModel,
  checkModel,
  clientOptions,
  type ModelClient,
  type ModelOptions,
  openModel,
} from './model.ts'
import { SimulationFault } from './results/simulation.ts'

/** A way to play the user; each simulation starts its own. Scores of different kinds are never mixed. */
export interface UserSimulator {
  /** Which kind it is, for the results. */
  readonly kind: UserKind
  /** The model or endpoint behind it, for the results. */
  readonly model?: string
  /** Further members of its requests to a model, for the results. */
  readonly args?: JsonObject
  /** Why this user cannot play a task; undefined when it can. */
  refuses(task: EvalTask): string | undefined
  /** Begins to play the user of one simulation. */
  start(briefing: UserBriefing): User
  /** Releases what it holds. */
  close?(): Promise<void>
}

/** The kinds of simulated user. */
export type UserKind = 'scripted' | 'llm' | 'a2a' | 'replay' | 'human' | 'golden'

/** What a user is told at the start of a simulation. */
export interface UserBriefing {
  readonly task: EvalTask
  readonly trial: number
  readonly seed: number
  /** The user's own tools. */
  readonly tools: readonly ToolDescriptor[]
  /** What was said before the simulation begins; nothing if absent. */
  readonly history?: readonly ConversationMessage[]
  /** The domain's own words, where it has some. */
  readonly prompts?: DomainPrompts | undefined
}

/** The user of one simulation. */
export interface User {
  /** What the user does next, given what the agent said or what the user's own tools gave back. */
  next(input: SpokenMessage | readonly ToolMessage[], signal: AbortSignal): Promise<SpokenMessage>
  /** Sees every message of the conversation as it happens. */
  observe?(message: ConversationMessage): void
  /** Things that a reader of the score should know. */
  warnings?(): readonly string[]
  /** Tokens of a model that plays the user. */
  usage?(): TokenCount
}

/** What ends a conversation when it stands in the user's words. */
const stopTokens: readonly string[] = ['###STOP###', '###TRANSFER###', '###OUT-OF-SCOPE###']

/** Whether the user's words end the conversation. */
export function isStop(content: string | null): boolean {
  return content !== null && stopTokens.some((token) => content.includes(token))
}

/** Plays the user by the lines of a task's `user_script`; needs no model and does the same every time. */
export const scriptedUser: UserSimulator = {
  kind: 'scripted',
  refuses({ id, user_script: script }) {
    if (!script) return `Task ${id} has no user_script`
    const faults = script.replies.flatMap(({ when }, index) => {
      const fault = whenFault(when)
      return fault === undefined ? [] : [`Task ${id}: user_script.replies.${index}.when ${fault}`]
    })
    return faults[0]
  },
  start({ task }) {
    if (!task.user_script) throw new Error(`Task ${task.id} has no user_script`)
    return createScripted(task.user_script)
  },
}

function createScripted(script: UserScript): User {
  const { opening, replies, fallback = 'Could you please look into it?', patience = 2 } = script
  const isFound = new Map(replies.map((reply) => [reply, compileWhen(reply.when)]))
  const used = new Map<ScriptedReply, number>()
  let opened = false
  let lost = 0
  let pending: string | undefined

  async function replyTo(said: string): Promise<ScriptedReply | undefined> {
    for (const one of replies)
      if ((used.get(one) ?? 0) < (one.times ?? 1) && (await isFound.get(one)?.(said))) return one
    return undefined
  }

  async function answer(said: string): Promise<SpokenMessage> {
    const reply = await replyTo(said)
    if (!reply) return ++lost > patience ? stop('That did not help. Goodbye.') : say(fallback)
    lost = 0
    used.set(reply, (used.get(reply) ?? 0) + 1)
    if (reply.stop) return stop(reply.say ?? 'Goodbye.')
    if (!reply.call) return say(reply.say ?? fallback)
    pending = reply.say
    return spoken('user', null, [{ id: newId(), ...reply.call, requestor: 'user' }])
  }

  return {
    async next(input) {
      if (!opened) {
        opened = true
        return say(opening)
      }
      const line = pending
      pending = undefined
      return isResults(input) && line !== undefined ? say(line) : answer(wordsOf(input))
    },
  }
}

function stop(text: string): SpokenMessage {
  return say(`${text} ###STOP###`)
}

function say(text: string): SpokenMessage {
  return spoken('user', text)
}

function wordsOf(input: AgentInput): string {
  if (!isResults(input)) return input.content ?? ''
  return input.map(({ content }) => content).join('\n')
}

/**
 * Plays a user who does their part of the solution when asked to, and nothing else: for tests of a domain, without a
 * model.
 */
export const goldenUser: UserSimulator = {
  kind: 'golden',
  refuses: () => undefined,
  start: ({ task }) => createGolden(task),
}

function createGolden(task: EvalTask): User {
  const parts = goldenSteps(task).filter(({ requestor }) => requestor === 'user')
  let opened = waitingWords(task) !== undefined
  let done = 0
  return {
    async next(input) {
      if (!opened) {
        opened = true
        return spoken('user', goldenOpening(task))
      }
      if (isResults(input)) return spoken('user', 'I have done it. Please go on.')
      const part = asksForPart(input.content) ? parts[done++] : undefined
      return part ? doPart(part, done) : spoken('user', 'Thank you. ###STOP###')
    },
  }
}

function doPart({ actions }: GoldenStep, part: number): SpokenMessage {
  const calls = actions.map(({ name, arguments: args }, index) => ({
    id: `golden_${part}_${index + 1}`,
    name,
    arguments: args,
    requestor: 'user' as const,
  }))
  return spoken('user', null, calls)
}

/** A conversation to replay the user's side of. */
interface Recording {
  readonly task_id: string
  readonly trial?: number
  readonly messages: readonly ConversationMessage[]
}

/**
 * Plays the user of recorded conversations again, turn by turn, and reports the turn at which the agent's tool calls
 * leave the record: from there on the user answers something that was not said.
 */
export function createReplayUser(recordings: readonly Recording[]): UserSimulator {
  const find = (task: EvalTask, trial?: number): Recording | undefined =>
    recordings.find((one) => one.task_id === task.id && one.trial === trial) ??
    recordings.find((one) => one.task_id === task.id)
  return {
    kind: 'replay',
    refuses: (task) => (find(task) ? undefined : `There is no recording of task ${task.id}`),
    start: ({ task, trial }) => createReplay(find(task, trial)?.messages ?? []),
  }
}

function createReplay(messages: readonly ConversationMessage[]): User {
  const turns = messages.filter((message): message is SpokenMessage => message.role === 'user')
  const expected = messages.flatMap(agentCalls)
  let turn = 0
  let calls = 0
  let divergence: string | undefined
  return {
    async next() {
      const { content, tool_calls } = turns[turn++] ?? spoken('user', '###STOP###')
      return spoken('user', content, tool_calls ?? [])
    },
    observe(message) {
      for (const call of agentCalls(message)) {
        const wanted = expected[calls++]
        if (divergence === undefined && keyOf(call) !== keyOf(wanted))
          divergence = `Replay left its record at call ${calls}, after user turn ${turn}: ${call.name} instead of ${wanted?.name ?? 'nothing'}`
      }
    },
    warnings: () => (divergence === undefined ? [] : [divergence]),
  }
}

function agentCalls(message: ConversationMessage): readonly ToolCall[] {
  return message.role === 'assistant' && isToolCall(message) ? (message.tool_calls ?? []) : []
}

function keyOf(call: ToolCall | undefined): string {
  return call ? sortedJson([call.name, call.arguments]) : ''
}

/** Where a person reads and writes. */
interface Terminal {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
}

/** Lets a person at the terminal play the user; `/stop` ends the conversation. Runs one simulation at a time. */
export function createHumanUser(terminal: Terminal): UserSimulator {
  checkOptions('createHumanUser', terminal, { input: 'object!', output: 'object!' })
  const lines = createInterface({ input: terminal.input, output: terminal.output })
  return {
    kind: 'human',
    refuses: () => undefined,
    start({ task }) {
      terminal.output.write(
        toPrintable(`\n== ${task.id} ==\n${scenarioText(task)}\n(/stop ends it)\n`),
      )
      return {
        async next(input, signal) {
          const said = 'role' in input ? (input.content ?? '') : JSON.stringify(input)
          const prompt = toPrintable(`\nagent> ${said}\nyou> `)
          const typed = (await lines.question(prompt, { signal })).trim()
          return spoken('user', typed === '/stop' || typed === '' ? '###STOP###' : typed)
        },
      }
    },
    close: async () => lines.close(),
  }
}

/** The scenario as a model reads it. */
function scenarioText(task: EvalTask): string {
  const { persona, instructions } = task.user_scenario ?? { instructions: '' }
  const lines = typeof instructions === 'string' ? [instructions] : describe(instructions)
  return [...(typeof persona === 'string' ? [`Persona: ${persona}`] : []), ...lines].join('\n')
}

function describe(instructions: object): string[] {
  return Object.entries(instructions)
    .filter(([, value]) => value !== null && value !== '')
    .map(([key, value]) => `${key.replaceAll('_', ' ')}: ${value}`)
}

/** Lets a model play the user, from the task's scenario and the user's own tools. */
export function createLlmUser(chat: ChatModel, options: ModelOptions = {}): UserSimulator {
  checkModel('createLlmUser', chat)
  checkOptions('createLlmUser', options, clientOptions)
  const model = openModel(chat, options)
  return {
    kind: 'llm',
    model: chat.model,
    ...(chat.args && { args: chat.args }),
    refuses: (task) => (task.user_scenario ? undefined : `Task ${task.id} has no user_scenario`),
    start: (briefing) => createPlayer(model, briefing),
    close: () => model.close(),
  }
}

function createPlayer(model: ModelClient, briefing: UserBriefing): User {
  const { seed, tools, history = [] } = briefing
  const messages: ChatMessage[] = [{ role: 'system', content: systemOf(briefing) }]
  const offered = tools.map((tool) => ({ type: 'function' as const, function: tool }))
  const used = { input: 0, output: 0 }
  let begun = false
  return {
    async next(input, signal) {
      // The input stands at the end of the history too.
      const news: readonly ConversationMessage[] = isResults(input) ? input : [input]
      if (!begun) messages.push(...history.filter((one) => !news.includes(one)).flatMap(toPast))
      begun = true
      messages.push(...toChat(input))
      const request = { messages, seed, ...(offered.length > 0 && { tools: offered }) }
      const answer = await model.ask(request, signal)
      used.input += answer.usage?.inputTokens ?? 0
      used.output += answer.usage?.outputTokens ?? 0
      const calls = answer.toolCalls()
      messages.push(toAssistant(answer.text, calls))
      return spoken('user', calls.length > 0 ? null : answer.text || null, calls.map(toCall))
    },
    usage: () => ({ ...used }),
  }
}

const guidelines = `You play a customer who contacts a service desk. Follow the scenario below.
- Write one message at a time, in your own words, as a customer would.
- Tell only what the scenario tells you, and only when it is asked for or needed. Never invent facts.
- When your wish is fulfilled or clearly refused, end with ###STOP###.
- When you are handed over to somebody else, write ###TRANSFER###.
- When the scenario does not tell you enough to go on, write ###OUT-OF-SCOPE###.`

function systemOf({ task, tools, prompts }: UserBriefing): string {
  if (prompts) return prompts.user(task, tools.length > 0)
  return `${guidelines}\n\n<scenario>\n${scenarioText(task)}\n</scenario>`
}

/** A message of the history as the user saw it: the agent's calls and their results are not for them. */
function toPast(message: ConversationMessage): ChatMessage[] {
  if (message.role === 'tool') return message.requestor === 'user' ? toChat([message]) : []
  if (message.role === 'assistant') return isToolCall(message) ? [] : toChat(message)
  const calls = message.tool_calls ?? []
  const written = calls.map(({ id, name, arguments: args }) => ({
    id,
    name,
    arguments: JSON.stringify(args),
  }))
  return [toAssistant(message.content ?? '', written)]
}

/** The user's model sees the roles the other way round: the agent's words are its `user` messages. */
function toChat(input: AgentInput): ChatMessage[] {
  if (!isResults(input)) return [{ role: 'user', content: input.content ?? '' }]
  return input.map(({ id, content }) => ({ role: 'tool', tool_call_id: id, content }))
}

function toAssistant(text: string, calls: readonly ModelToolCall[]): ChatMessage {
  const written = calls.map(
    ({ id, ...call }): ChatToolCall => ({ id, type: 'function', function: call }),
  )
  return {
    role: 'assistant',
    content: text || null,
    ...(written.length > 0 && { tool_calls: written }),
  }
}

function toCall({ id, name, arguments: written }: ModelToolCall): ToolCall {
  const args = tryParseSaid(written)
  return { id, name, arguments: isJsonObject(args) ? args : {}, requestor: 'user' }
}

/** Lets another A2A agent play the user: it gets the scenario first, then whatever the agent under test says. */
export function createA2AUser(config: A2AConfig): UserSimulator {
  checkArgument('createA2AUser', 'the config', config, 'object')
  const client = new A2AClient({
    serverUrl: config.endpoint,
    timeouts: { requestMs: config.timeout * 1000 },
    verifySsl: config.verifySsl,
    ...(config.credentialOrigins && { credentialOrigins: config.credentialOrigins }),
    ...(config.authToken !== undefined && { auth: bearerAuth(config.authToken) }),
  })
  return {
    kind: 'a2a',
    model: config.endpoint,
    refuses: (task) => (task.user_scenario ? undefined : `Task ${task.id} has no user_scenario`),
    start: (briefing) => createRemotePlayer(client, briefing),
    close: () => client.close(),
  }
}

const instructions =
  'Play the customer of this scenario. Answer with their next words only. End with ###STOP### when you are done.'

function createRemotePlayer(client: A2AClient, { task }: UserBriefing): User {
  let ids: NextIds = { contextId: undefined, taskId: undefined, artifactsRead: {} }
  let first = true
  return {
    async next(input, signal) {
      const said = wordsOf(input)
      const text = first
        ? `${instructions}\n<scenario>\n${scenarioText(task)}\n</scenario>\n\n${said}`
        : said
      first = false
      const answer = await ask(client, userMessage(text, messageIds(ids)), signal)
      const { content } = fromA2A(answer, ids)
      const next = nextIds(answer)
      ids = { ...next, contextId: ids.contextId ?? next.contextId }
      return spoken('user', content)
    },
  }
}

async function ask(
  client: A2AClient,
  message: Message,
  signal: AbortSignal,
): Promise<Task | Message> {
  try {
    const card = await client.fetchAgentCard({ signal })
    return await exchange(client, { message, card, signal, onTask: () => {} })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SimulationFault) throw new SimulationFault('user_error', error.message)
    throw new SimulationFault('infrastructure_error', `The user's agent: ${messageOf(error)}`)
  }
}
