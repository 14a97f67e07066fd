import { isSemanticVersion, validateAgentId } from '../protocol/card.ts'
import { textOf } from '../protocol/task.ts'
import type { Json, JsonObject, Message } from '../protocol/types.ts'
import { isAsyncIterable } from '../shared/async.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import type {
  Agent,
  AgentAnswer,
  AgentDetails,
  AgentEvent,
  AgentInfo,
  AgentOf,
  AgentReply,
  Health,
  Turn,
} from './agent.ts'
import type { Guards } from './guards/guard.ts'
import { ownGuards, withGuards } from './guards/with-guards.ts'
import { type OutputOptions, withOutputSchema } from './output/with-schema.ts'
import { type DataOf, type SchemaInput, toDataSchema, type WrittenData } from './schema.ts'

/** A function that answers messages: plain, async, or an async generator of events. */
export type AgentFunction = (message: Message, turn: Turn) => AgentReply

/** A function that answers with data; one that asks the user, or has files to give, is an async generator of events. */
export type DataFunction<Data> = (
  message: Message,
  turn: Turn,
) => Data | Promise<Data> | AsyncIterable<AgentEvent>

/** Who a function agent is; only the name matters, the rest has sensible values. */
export interface AgentDescription<Schema = undefined>
  extends Omit<AgentDetails, 'outputSchema'>,
    OutputOptions {
  readonly name: string
  /** The name in lower case with dashes, if absent. */
  readonly id?: string
  /** What it does, for those who choose among agents: people, supervisors, models. */
  readonly description?: string
  /** What it can do, in words such as `research`; cards show them as skills. */
  readonly abilities?: readonly string[]
  /** Further facts, for those who look for agents. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Whether an interrupted turn may run again after a crash; false if absent. */
  readonly resumable?: boolean
  /** Guards on what the function is asked and on what it answers. */
  readonly guards?: Guards
  /** What the answers fit: the function gives the data itself, which is checked; any answer will do if absent. */
  readonly outputSchema?: Schema
  /** The JSON Schema of `outputSchema`, where its library gives none. */
  readonly jsonSchema?: JsonObject
  /** Tells whether it can answer now; always if absent. */
  health?(): Promise<Health>
}

/** The function that `defineAgent` takes: one that gives the schema's data, where there is a schema. */
export type FunctionFor<Schema> = [Schema] extends [SchemaInput]
  ? DataFunction<WrittenData<Schema>>
  : AgentFunction

type AnyDescription = AgentDescription<SchemaInput | undefined>

/** The agent that `defineAgent` gives: one that knows the type of its answers, where it has a schema. */
export type AgentFor<Schema> = [Schema] extends [SchemaInput] ? AgentOf<DataOf<Schema>> : Agent

/**
 * Makes an agent of a description and the function that answers.
 * @throws Error for a description that no card could show: without a name, with an id or version that is none.
 * @throws GuardFault for a guard that cannot be used.
 * @throws TypeError for an `outputSchema` that is no schema.
 */
export function defineAgent<Schema extends SchemaInput | undefined = undefined>(
  description: AgentDescription<Schema>,
  process: FunctionFor<Schema>,
): AgentFor<Schema>

export function defineAgent(
  description: AnyDescription,
  process: AgentFunction | DataFunction<unknown>,
): Agent {
  checkOptions('defineAgent', description, descriptionOptions)
  checkArgument('defineAgent', 'what answers', process, 'function')
  checkDescription(description)
  const info = toInfo(description)
  const { resumable = false, health, outputSchema, jsonSchema, maxOutputRetries } = description
  const { version } = description
  const agent: Agent = {
    info: () => info,
    process: process as AgentFunction, // of a description without a schema
    resumable,
    kind: 'function',
    ...(version !== undefined && { version }),
    ...(health && { health }),
  }
  if (!outputSchema) return withGuards(agent, ownGuards(info.id, description.guards))
  const at = `outputSchema of agent "${description.name}"`
  const ofData = { ...agent, process: givingData(process) }
  const schema = toDataSchema(outputSchema, { at, jsonSchema })
  const checked = withOutputSchema(ofData, schema, { maxOutputRetries })
  return withGuards(checked, ownGuards(info.id, description.guards))
}

const descriptionOptions: OptionTable<AnyDescription> = {
  name: 'string!',
  id: 'string',
  description: 'string',
  abilities: 'array',
  metadata: 'object',
  resumable: 'boolean',
  guards: 'object',
  outputSchema: 'any',
  jsonSchema: 'object',
  maxOutputRetries: 'number',
  health: 'function',
  version: 'string',
  provider: 'object',
  capabilities: 'array',
  proficiencies: 'array',
  skills: 'array',
  inputModes: 'array',
  outputModes: 'array',
  documentationUrl: 'string',
  iconUrl: 'string',
  stateManagement: 'boolean',
  streaming: 'boolean',
  extensions: 'array',
  securitySchemes: 'object',
  securityRequirements: 'array',
}

function checkDescription({ name, id, abilities, version, capabilities }: AnyDescription): void {
  const isBlank = (text: string): boolean => text.trim() === ''
  if (isBlank(name)) throw new Error('An agent needs a name')
  if (id !== undefined && !validateAgentId(id))
    throw new Error(`"${id}" cannot be the id of an agent`)
  if (abilities?.some(isBlank)) throw new Error(`An ability needs a name (agent "${name}")`)
  for (const capability of capabilities ?? [])
    if (isBlank(capability.name)) throw new Error(`A capability needs a name (agent "${name}")`)
  for (const given of [version, ...(capabilities ?? []).map((one) => one.version)])
    if (given !== undefined && !isSemanticVersion(given))
      throw new Error(`"${given}" is not a semantic version such as 1.0.0 (agent "${name}")`)
}

function toInfo(description: AnyDescription): AgentInfo {
  const {
    name,
    id,
    description: words,
    abilities,
    metadata,
    resumable,
    health,
    guards,
    outputSchema,
    jsonSchema,
    maxOutputRetries,
    ...details
  } = description
  return {
    id: id ?? toId(name),
    name,
    description: words ?? name,
    capabilities: [...new Set(abilities)],
    metadata: metadata ?? {},
    details,
  }
}

/** Makes an id of a name: lower case, dashes for what is neither letter nor digit. */
export function toId(name: string): string {
  const id = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  return id || 'agent'
}

/** A function that gives data, as one that answers; events are no data, and what else is none can be told. */
export function givingData(
  process: DataFunction<unknown>,
  isData: (given: unknown) => boolean = (given) => given !== undefined,
): AgentFunction {
  return (message, turn) => {
    const given = process(message, turn)
    // The contract's only iterable.
    if (isAsyncIterable(given)) return given as AsyncIterable<AgentEvent>
    return Promise.resolve(given).then((answer) =>
      // Both are checked where answers are read.
      isData(answer) ? turn.reply([{ data: answer as Json }]) : (answer as AgentAnswer),
    )
  }
}

/**
 * An agent as it is, a function as an agent.
 *
 * @param place The path in what was given, such as `agents[0]`, and what a function there is called; its own name if absent.
 * @throws Error that names the place of what is neither.
 */
export function toAgent(
  given: Agent | AgentFunction,
  { at, name }: { readonly at: string; readonly name?: string },
): Agent {
  if (typeof given === 'function') {
    // A function without a name has an empty one, and a default export is called `default`.
    const own = given.name === '' || given.name === 'default' ? 'agent' : given.name
    return defineAgent({ name: name || own }, given)
  }
  if (isAgent(given)) return given
  const isPromise = hasMethod(given, 'then')
  throw new Error(
    `${at} is ${isPromise ? 'a promise: await it' : 'neither an agent nor a function that answers'}`,
  )
}

/** Whether a value can be asked as an agent is. */
export function isAgent(value: unknown): value is Agent {
  return hasMethod(value, 'process') && hasMethod(value, 'info')
}

/** Whether a value is an object that has this method. */
export function hasMethod(value: unknown, name: string): boolean {
  if (typeof value !== 'object' || value === null) return false
  return typeof Reflect.get(value, name) === 'function'
}

/** Any object with `run(text)`, as agent frameworks have it. */
export interface Runnable {
  /** Answers a text. */
  run(text: string): string | Promise<string>
}

/** Makes an agent of an object with `run(text)`. */
export function fromRunnable(
  runnable: Runnable,
  description: AgentDescription = { name: 'A2A Agent', description: 'A2A Protocol Agent' },
): Agent {
  return defineAgent(description, async (message) => runnable.run(textOf(message.parts)))
}

/** Makes an agent that answers `Echo: <text>`; for trying things out. */
export function createEchoAgent(): Agent {
  return defineAgent(
    {
      name: 'Echo Agent',
      description: 'Answers with what it was told',
      abilities: ['echo'],
      resumable: true,
    },
    (message) => `Echo: ${textOf(message.parts)}`,
  )
}
