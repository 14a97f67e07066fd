import { createGuard, type Guard, type GuardOptions } from '../../network/guard.ts'
import type { AgentInfo } from '../../protocol/card.ts'
import {
  clientToolsExtension,
  clientToolsOf,
  estimateUsage,
  historyExtension,
  type OfferedTool,
  toAmounts,
  type Usage,
  usageExtension,
} from '../../protocol/extensions.ts'
import type { AgentExtension, Json, JsonObject, Message } from '../../protocol/types.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { type Logger, silent } from '../../shared/log.ts'
import { checkOptions, type OptionTable } from '../../shared/options.ts'
import type { Agent, AgentEvent, DataSchema, Health, Turn } from '../agent.ts'
import {
  type OpenAIAgentConfig,
  outputRows,
  validateOpenAIAgentConfig,
  withCallDefaults,
} from '../config.ts'
import { checkNumber } from '../config-checks.ts'
import { namesOf } from '../guards/built-in.ts'
import type { GuardPlace } from '../guards/check.ts'
import type { Guards } from '../guards/guard.ts'
import { guardedAnswer, ownGuards } from '../guards/with-guards.ts'
import { modelOptions, modelRows } from '../model-config.ts'
import { checkedAnswer, type OutputOptions } from '../output/with-schema.ts'
import { type DataOf, type SchemaInput, toDataSchema } from '../schema.ts'
import {
  type Tool,
  type ToolSource,
  type ToolUser,
  toToolName,
  withOwnNames,
  wrapTool,
} from '../tools.ts'
import { type AskAgent, elsewhere } from '../wrap.ts'
import {
  type ChatProgress,
  keptConversation,
  loadProgress,
  type ModelChat,
  runChat,
} from './chat.ts'
import { ChatClient, modelEntry } from './client.ts'
import {
  askWithSchema,
  bringsHistory,
  type ChatMessage,
  type ChatRequest,
  checkFiles,
  toChatMessages,
  toTranscript,
  withoutRefusedFiles,
} from './messages.ts'
import type { ChatAnswer } from './read.ts'

/** What cards say of every model: what it reads of a message's metadata, and what it tells in its answer's. */
const extensions: readonly AgentExtension[] = [
  { uri: historyExtension, description: 'Reads earlier turns from the metadata of a message' },
  { uri: usageExtension, description: 'Tells the tokens used in the metadata of its answer' },
  { uri: clientToolsExtension, description: 'Calls tools that its client offers and runs' },
]

/** Which model an agent is, and what it may do. */
export interface OpenAIAgentOptions<Schema = SchemaInput | undefined>
  extends OpenAIAgentConfig,
    OutputOptions {
  /** The agent's id, unique in its team and server. */
  readonly id: string
  readonly name: string
  /** What it does, for those who choose among agents. */
  readonly description?: string
  /** What it can do, in words such as `research`. */
  readonly capabilities?: readonly string[]
  /** Further facts, for those who look for agents. */
  readonly metadata?: Readonly<Record<string, string>>
  /** What the model may call. */
  readonly tools?: readonly Tool[]
  /** Tools of MCP servers; asked for at each turn. */
  readonly toolSources?: readonly ToolSource[]
  /** Which images at internal addresses may be passed on by their URL; none if absent. */
  readonly files?: Omit<GuardOptions, 'allowHttp'>
  /** Guards on what the model is asked and on what it answers. */
  readonly guards?: Guards
  /** What the answers fit: each is checked, asked for again where it does not fit, and becomes data. */
  readonly outputSchema?: Schema
  /** The JSON Schema of `outputSchema`, where its library gives none. */
  readonly jsonSchema?: JsonObject
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Gives numbers from 0 to 1 for the jitter of retries; `Math.random` if absent. */
  readonly random?: () => number
  /** Where it tells what it does; nowhere if absent. */
  readonly log?: Logger
}

const agentOptions: OptionTable<OpenAIAgentOptions> = {
  ...modelOptions,
  endpoint: 'string!',
  apiKey: 'string',
  model: 'string!',
  timeoutSeconds: 'number',
  maxRetries: 'number',
  id: 'string!',
  name: 'string!',
  description: 'string',
  capabilities: 'array',
  metadata: 'object',
  tools: 'array',
  toolSources: 'array',
  files: 'object',
  guards: 'object',
  outputSchema: 'any',
  jsonSchema: 'object',
  maxOutputRetries: 'number',
  clock: 'object',
  random: 'function',
  log: 'object',
}

/** What is known of a model's answers: their type, where there is a schema. */
export type ModelOutput<Schema> = [Schema] extends [SchemaInput]
  ? DataSchema<DataOf<Schema>>
  : DataSchema | undefined

/**
 * A model behind an OpenAI-compatible service as an agent. It sees the system prompt, the earlier messages of the
 * conversation and the user's message; its answer is streamed as chunks of the artifact `response`, whose metadata
 * holds the tokens used.
 */
export class OpenAIAgent<Schema extends SchemaInput | undefined = undefined> implements ToolUser {
  readonly resumable = true
  readonly kind = 'model'
  readonly acceptsTools = true
  readonly guardNames: Agent['guardNames']
  readonly outputSchema: ModelOutput<Schema>
  readonly #options: OpenAIAgentOptions
  readonly #clock: Clock
  readonly #client: ChatClient
  readonly #guard: Guard
  readonly #guards: GuardPlace | undefined

  /**
   * @throws ConfigConversionError for a value out of range.
   * @throws GuardFault for a guard that cannot be used.
   * @throws TypeError for an `outputSchema` that is no schema.
   */
  constructor(options: OpenAIAgentOptions<Schema>) {
    checkOptions('OpenAIAgent', options, agentOptions)
    validateOpenAIAgentConfig(options)
    const { outputSchema, jsonSchema, maxOutputRetries = 0 } = options
    checkNumber('maxOutputRetries', maxOutputRetries, outputRows.maxOutputRetries)
    const at = `outputSchema of agent "${options.name}"`
    const schema = outputSchema && toDataSchema(outputSchema, { at, jsonSchema })
    this.outputSchema = schema as ModelOutput<Schema> // what reads the data of this schema
    const { timeoutSeconds, maxRetries } = withCallDefaults(options)
    this.#options = options
    this.#guard = createGuard({ ...options.files, allowHttp: true })
    this.#guards = ownGuards(options.id, options.guards)
    this.guardNames = this.#guards && namesOf(this.#guards.guards)
    this.#clock = options.clock ?? systemClock
    this.#client = new ChatClient({
      agent: options.name,
      endpoint: options.endpoint,
      timeoutMs: timeoutSeconds * 1000,
      maxRetries,
      clock: this.#clock,
      random: options.random ?? Math.random,
      log: options.log ?? silent,
      ...(options.apiKey !== undefined && { apiKey: options.apiKey }),
      ...(options.headers && { headers: options.headers }),
      ...(options.extraBody && { extraBody: options.extraBody }),
    })
  }

  info(): AgentInfo {
    const { id, name, description, capabilities, metadata, model } = this.#options
    const { outputSchema } = this
    return {
      id,
      name,
      description: description ?? `${name} answers with the model ${model}`,
      capabilities: [...new Set(capabilities ?? [])],
      metadata: { ...metadata, type: 'openai', model },
      details: { extensions, ...(outputSchema && { outputSchema: outputSchema.jsonSchema }) },
    }
  }

  process(message: Message, turn: Turn, offered: readonly Tool[] = []): AsyncGenerator<AgentEvent> {
    if (!this.#guards) return this.#checked(message, turn, offered)
    const ask: AskAgent = (own, asked = message) => this.#checked(asked, own, offered)
    return guardedAnswer(this.#guards, ask, message, turn)
  }

  #checked(message: Message, turn: Turn, offered: readonly Tool[]): AsyncGenerator<AgentEvent> {
    const { outputSchema: schema } = this
    if (!schema) return this.#answer(message, turn, offered)
    const { maxOutputRetries } = this.#options
    const ask: AskAgent = (own, asked = message) => this.#answer(asked, own, offered)
    return checkedAnswer({ ask, message, turn, schema, maxOutputRetries, keepsState: true })
  }

  #answer(message: Message, turn: Turn, offered: readonly Tool[]): AsyncGenerator<AgentEvent> {
    return runChat(() => this.#openChat(message, turn, offered))
  }

  async #openChat(message: Message, turn: Turn, offered: readonly Tool[]): Promise<ModelChat> {
    const {
      name,
      parallelToolCalls,
      responseFormat,
      maxToolRounds = modelRows.maxToolRounds.default,
    } = this.#options
    const asked = askWithSchema(message, turn.outputSchema, responseFormat)
    await checkFiles(this.#guard, message, turn.signal)
    const progress = await loadProgress(turn)
    const [own, messages] = await Promise.all([
      this.#listTools(turn),
      keptConversation(turn, progress) ?? this.#readConversation(asked.message, turn, progress),
    ])
    // A member of a team answers the team, which runs no tools for its client.
    const { tools: forClient } = clientToolsOf(turn.taskStore && message.metadata)
    // The client runs these itself.
    const unrun = forClient.map((tool): Tool => ({ ...tool, execute: () => '' }))
    const tools = withOwnNames([...own, ...offered, ...unrun])
    return {
      agent: name,
      client: this.#client,
      request: { ...this.#sampling(), ...asked.format, messages },
      tools,
      clientTools: clientNames(tools, forClient),
      parallelToolCalls,
      maxToolRounds,
      progress,
      clock: this.#clock,
      turn,
    }
  }

  /** The conversation up to and with the turn's message. A beginning counts the tokens that its summary cost. */
  async #readConversation(
    message: Message,
    turn: Turn,
    progress: ChatProgress,
  ): Promise<readonly ChatMessage[]> {
    const { systemPrompt } = this.#options
    const { summary, messages: heard, spent } = await this.#readHistory(turn)
    progress.usage ??= spent
    return toChatMessages({
      ...(systemPrompt && { systemPrompt }),
      ...(summary && { summary }),
      earlier: await withoutRefusedFiles(this.#guard, heard, turn.signal),
      message,
    })
  }

  /**
   * The earlier messages of the context, the newest ones whole. Where the model summarises, those before them are put
   * into a summary that stays with the context. It is made anew only when more than `maxHistory` messages have come after
   * what it covers, and then covers all but the newest half of those, so most turns ask for none. A summary that cannot be
   * made is left out: the model then sees the newest messages alone.
   */
  async #readHistory(turn: Turn): Promise<EarlierMessages> {
    const {
      id,
      maxHistory = modelRows.maxHistory.default,
      history = modelRows.history.default,
    } = this.#options
    if (maxHistory <= 0 || bringsHistory(turn.message)) return { messages: [] }
    if (history === 'window') return { messages: await earlierMessages(turn, maxHistory) }
    const messages = await earlierMessages(turn, maxHistory + lookBack)
    const key = `corral:summary:${id}`
    const known = toSummary(await turn.context.get(key))
    const covered = known ? messages.findIndex(({ messageId }) => messageId === known.upTo) : -1
    const summary = covered < 0 ? undefined : known
    const rest = messages.slice(covered + 1)
    if (rest.length <= maxHistory)
      return { ...(summary && { summary: summary.text }), messages: rest }
    const kept = Math.ceil(maxHistory / 2)
    const older = rest.slice(0, -kept)
    const made = await this.#summarise(turn, summary, older)
    if (!made)
      return { ...(summary && { summary: summary.text }), messages: rest.slice(-maxHistory) }
    turn.context.set(key, { upTo: made.upTo, text: made.text })
    const from = rest.findIndex(({ messageId }) => messageId === made.upTo) + 1
    return { summary: made.text, messages: rest.slice(from).slice(-maxHistory), spent: made.usage }
  }

  /** Asks the model for a summary, once per turn even across a crash. */
  async #summarise(
    turn: Turn,
    known: Summary | undefined,
    older: readonly Message[],
  ): Promise<(Summary & { readonly usage?: Usage | undefined }) | undefined> {
    const [clock, agent] = [this.#clock, this.#options.name]
    // What ends an answer may well stand in a summary.
    const { stop: _, ...sampling } = this.#sampling()
    const upTo = older.at(-1)?.messageId ?? ''
    const transcript = toTranscript(older, known?.text)
    const messages = [
      { role: 'system', content: instruction },
      { role: 'user', content: transcript },
    ] as const
    const began = clock.elapsed()
    try {
      const step = await turn.step('summary', async () => {
        const asked = (): Promise<ChatAnswer> =>
          this.#client.complete({ ...sampling, messages }, turn.signal, turn.account)
        const answer = await elsewhere(turn, asked)
        const durationMs = Math.round(clock.elapsed() - began)
        const entry = modelEntry({ agent, round: 0, durationMs }, sampling.model, answer)
        turn.trace({ ...entry, purpose: 'summary' })
        const usage =
          answer.usage ?? turn.account?.unreported(estimateUsage(transcript, answer.text))
        if (usage) turn.account?.spend(usage)
        const text = answer.text.slice(0, longestSummary)
        return { upTo, text, ...(usage && toAmounts(usage)) }
      })
      const { text, inputTokens, outputTokens, costUsd } = step
      if (text.trim() === '') return undefined
      const isCounted = inputTokens !== undefined && outputTokens !== undefined
      const cost = costUsd !== undefined && { costUsd }
      const usage = isCounted && { usage: { inputTokens, outputTokens, ...cost } }
      return { upTo: step.upTo, text, ...usage }
    } catch (error) {
      turn.signal.throwIfAborted()
      turn.log.warn({ agent, error }, 'a conversation could not be summarised')
      return undefined
    }
  }

  async health(): Promise<Health> {
    try {
      await this.#client.probe()
      return { healthy: true }
    } catch (error) {
      return { healthy: false, reason: error instanceof Error ? error.message : 'unknown' }
    }
  }

  async close(): Promise<void> {
    const sources = this.#options.toolSources ?? []
    await Promise.all([
      this.#client.close(),
      this.#guard.close(),
      ...sources.map((source) => source.close()),
    ])
  }

  #sampling(): Omit<ChatRequest, 'messages'> {
    const { model, temperature, maxTokens, topP, stop, seed, reasoningEffort } = this.#options
    return {
      model,
      ...(temperature !== undefined && { temperature }),
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...(topP !== undefined && { top_p: topP }),
      ...(stop !== undefined && { stop }),
      ...(seed !== undefined && { seed }),
      ...(reasoningEffort !== undefined && { reasoning_effort: reasoningEffort }),
    }
  }

  /** Our own tools, then the sources' in their order. A name that is taken gets its source's name before it. */
  async #listTools(turn: Turn): Promise<readonly Tool[]> {
    const { tools = [], toolSources = [] } = this.#options
    const byName = new Map(tools.map((tool) => [tool.name, tool]))
    if (toolSources.length === 0) return [...byName.values()]
    const lists = await elsewhere(turn, () =>
      Promise.all(toolSources.map((source) => source.list(turn.signal))),
    )
    for (const [index, list] of lists.entries())
      for (const tool of list) {
        const taken = byName.has(tool.name)
        const name = taken ? toToolName(`${toolSources[index]?.name}_${tool.name}`) : tool.name
        byName.set(name, taken ? wrapTool(tool, { name }) : tool)
      }
    return [...byName.values()]
  }
}

/** The names that the last of the tools have for the client, by those that they have for the model. */
function clientNames(
  tools: readonly Tool[],
  given: readonly OfferedTool[],
): ReadonlyMap<string, string> {
  const own = tools.length - given.length
  return new Map(given.map(({ name }, index) => [tools[own + index]?.name ?? name, name]))
}

/** What a model hears of a conversation before the message that it answers. */
interface EarlierMessages {
  /** What was said before `messages`, in the model's own words. */
  readonly summary?: string
  readonly messages: readonly Message[]
  /** The tokens that the summary cost in this turn. */
  readonly spent?: Usage | undefined
}

/** How many messages beyond those that a model sees whole are read to be summarised. */
const lookBack = 200

/** The context's messages, then those of this task that are not among them, the newest `limit`. */
async function earlierMessages(turn: Turn, limit: number): Promise<readonly Message[]> {
  const heard = await turn.conversation(limit)
  const known = new Set([turn.message.messageId, ...heard.map((message) => message.messageId)])
  const rest = turn.history.filter((message) => !known.has(message.messageId))
  const current = heard.filter((message) => message.messageId !== turn.message.messageId)
  return [...current, ...rest].slice(-limit)
}

/** What was said up to and with a message. */
interface Summary {
  readonly upTo: string
  readonly text: string
}

function toSummary(value: Json | undefined): Summary | undefined {
  if (typeof value !== 'object' || value === null || !('upTo' in value)) return undefined
  const { upTo, text } = value
  return typeof upTo === 'string' && typeof text === 'string' ? { upTo, text } : undefined
}

const longestSummary = 20_000

const instruction =
  'Summarise this conversation between a user and an assistant, so that the assistant can go on with it. Keep names, ' +
  'numbers, decisions, wishes and open questions. Answer with the summary alone, in the language of the conversation.'
