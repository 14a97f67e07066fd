import type { StandardSchemaV1 } from '@standard-schema/spec'
import { A2AError } from '../protocol/errors.ts'
import { approvalExtension } from '../protocol/extensions.ts'
import { answerParts, isTerminal, textOf } from '../protocol/task.ts'
import type { Json, JsonObject, Message, Part, Task } from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import type { Logger } from '../shared/log.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import { trimEnd } from '../shared/text.ts'
import type { Agent, AgentReply, Draft, Turn } from './agent.ts'
import type { ApprovalNames } from './config.ts'
import { type DataOf, type SchemaInput, toDataSchema } from './schema.ts'
import { askAside } from './wrap.ts'

/** Something a model may call: a TypeScript function, a tool of an MCP server, another agent. */
export interface Tool {
  /** Letters, digits, `_` and `-`, at most 64: what model services accept. */
  readonly name: string
  /** What it does, for the model. */
  readonly description: string
  /** JSON Schema of the arguments, an object. */
  readonly parameters: JsonObject
  /**
   * Whether the user is asked before a call runs: always, or where a function of the arguments says so. Only a clear yes
   * lets it run, and a clear no rejects the task.
   */
  readonly approval?: ApprovalRule
  /** What is wrong with arguments, in words for the model, which is told instead of the user being asked. */
  check?(args: JsonObject): Promise<string | undefined> | string | undefined
  /** Does the work. A throw is told to the model by its message, so that it can try something else. */
  execute(args: JsonObject, context: ToolContext): Promise<ToolOutput> | ToolOutput
  /**
   * Present where a call of this tool ends the model's turn, such as one that hands over to another agent: the result is
   * not told to the model, and what this gives is the metadata of its answer. The same arguments must give the same.
   */
  ends?(args: JsonObject): JsonObject
}

/** What a tool gives: JSON, or an object that is written as JSON, such as one of an interface; no Map, Date or function. */
export type ToolOutput =
  | Json
  | readonly object[]
  | (object & {
      readonly [mark in
        | typeof Symbol.iterator
        | typeof Symbol.toStringTag
        | typeof Symbol.toPrimitive
        | typeof Symbol.hasInstance]?: never
    })

/** Whether a call needs the user's yes. */
export type ApprovalRule<Args = JsonObject> = boolean | ((args: Args) => Promise<boolean> | boolean)

/** What a tool knows of the turn that calls it. */
export interface ToolContext {
  /** Fires when the turn is given up. */
  readonly signal: AbortSignal
  /** The turn that calls it. */
  readonly turn: Turn
  /**
   * What to call this call by in systems outside, such as an idempotency key, so that they can tell a repetition: a
   * call's result counts once, but its work may begin again where the process died before the result was stored.
   * Absent where an agent of your own calls the tool and gives none.
   */
  readonly key?: string
}

/** An agent that can use tools which are offered to it for one turn, such as by a team to its supervisor. */
export interface ToolUser extends Agent {
  /** Says that `process` takes tools. */
  readonly acceptsTools: true
  process(message: Message, turn: Turn, tools?: readonly Tool[]): AgentReply
}

/** Whether an agent takes tools for a turn. */
export function acceptsTools(agent: Agent): agent is ToolUser {
  return 'acceptsTools' in agent && agent.acceptsTools === true
}

/** Tools that are found when they are needed, such as those of an MCP server. */
export interface ToolSource {
  /** Stands before a tool's name where that name is already taken. */
  readonly name: string
  /** The tools there are now. */
  list(signal: AbortSignal): Promise<readonly Tool[]>
  /** Releases connections and processes. May be called twice. */
  close(): Promise<void>
}

/** A tool whose arguments and result have types, by a schema of zod, valibot, arktype or another library, or a JSON Schema. */
export interface ToolDefinition<
  Input extends SchemaInput,
  Output extends SchemaInput = JsonObject,
> {
  /** Letters, digits, `_` and `-`, at most 64: what model services accept. */
  readonly name: string
  /** What it does, for the model. */
  readonly description: string
  /** What the arguments must fit: an object. A model whose arguments do not fit is told so, and nothing runs. */
  readonly input: Input
  /** The JSON Schema of `input`, where its library gives none. */
  readonly jsonSchema?: JsonObject
  /** What the result must fit. */
  readonly output?: Output
  /** Whether the user is asked before a call runs: always, or where a function of the arguments says so. */
  readonly approval?: ApprovalRule<DataOf<Input>>
  /** Does the work. A throw is told to the model by its message, so that it can try something else. */
  execute(
    args: DataOf<Input>,
    context: Required<ToolContext>,
  ): Promise<ResultFor<Output>> | ResultFor<Output>
}

/** What a tool's `execute` gives: what its `output` schema takes, or any JSON. */
export type ResultFor<Output> =
  Output extends StandardSchemaV1<infer Given, infer _> ? Given : ToolOutput

const toolName = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * Checks a tool where it is written, not where a model first calls it.
 * @throws TypeError for a name no model accepts, and for a schema that cannot be used.
 */
export function defineTool(tool: Tool): Tool

// Last, since it is the last one whose faults the compiler tells.
/**
 * Makes a tool whose arguments and result have types, by schemas. What does not fit is told to the model, and nothing runs.
 * @throws TypeError for a name no model accepts, and for a schema that cannot be used.
 */
export function defineTool<Input extends SchemaInput, Output extends SchemaInput = JsonObject>(
  definition: ToolDefinition<Input, Output>,
): Tool

export function defineTool(given: Tool | ToolDefinition<SchemaInput, SchemaInput>): Tool {
  checkArgument('defineTool', 'the tool', given, 'object')
  // A tool may be an instance of a class, which has what members it likes.
  if (Object.getPrototypeOf(given) === Object.prototype)
    checkOptions('defineTool', given, 'input' in given ? definitionMembers : toolMembers)
  if (!toolName.test(given.name))
    throw new TypeError(`A tool's name is 1 to 64 letters, digits, _ or -: ${given.name}`)
  return 'input' in given ? toTool(given) : given
}

const toolMembers: OptionTable<Tool> = {
  name: 'string!',
  description: 'string!',
  parameters: 'object!',
  approval: 'boolean|function',
  check: 'function',
  execute: 'function!',
  ends: 'function',
}

const definitionMembers: OptionTable<ToolDefinition<SchemaInput, SchemaInput>> = {
  name: 'string!',
  description: 'string!',
  input: 'any!',
  jsonSchema: 'object',
  output: 'any',
  approval: 'boolean|function',
  execute: 'function!',
}

function toTool(definition: ToolDefinition<SchemaInput, SchemaInput>): Tool {
  const { name, description, approval, jsonSchema, output } = definition
  const at = `of the tool "${name}"`
  const input = toDataSchema(definition.input, {
    at: `input ${at}`,
    value: 'arguments',
    jsonSchema,
  })
  const result =
    output && toDataSchema(output, { at: `output ${at}`, value: 'result', jsonSchema: {} })
  const read = async (args: JsonObject): Promise<unknown> => {
    const reading = await input.read(args)
    if (reading.fault !== undefined) throw new Error(reading.fault)
    return reading.data
  }
  return {
    name,
    description,
    parameters: input.jsonSchema,
    ...(approval !== undefined && {
      approval:
        typeof approval === 'function' ? async (args) => approval(await read(args)) : approval,
    }),
    check: async (args) => (await input.read(args)).fault,
    async execute(args, context) {
      const known = { ...context, key: context.key ?? newId() }
      const given = await definition.execute(await read(args), known)
      const reading = await result?.read(given)
      if (reading?.fault !== undefined) throw new Error(`The tool failed: ${reading.fault}`)
      return (reading ? reading.data : given) as ToolOutput // whatever it is, the model reads it as JSON
    },
  }
}

/** The nearest name that model services accept. */
export function toToolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'tool'
}

/** The tools with a name of its own for each: a later one whose name is taken gets a number behind it. */
export function withOwnNames(tools: readonly Tool[]): readonly Tool[] {
  const taken = new Set<string>()
  return tools.map((tool) => {
    let name = tool.name
    for (let number = 2; taken.has(name); number++)
      name = `${tool.name.slice(0, 63 - String(number).length)}_${number}`
    taken.add(name)
    return name === tool.name ? tool : wrapTool(tool, { name })
  })
}

/** A tool around another: every member is the wrapped one's, which may be an instance of a class; what differs is given. */
export function wrapTool(tool: Tool, overrides: Partial<Tool>): Tool {
  const { name, description, parameters, approval, check, ends } = tool
  return {
    name,
    description,
    parameters,
    ...(approval !== undefined && {
      approval: typeof approval === 'function' ? (args) => approval.call(tool, args) : approval,
    }),
    ...(check && { check: (args) => check.call(tool, args) }),
    execute: (args, context) => tool.execute(args, context),
    ...(ends && { ends: (args) => ends.call(tool, args) }),
    ...overrides,
  }
}

/** A model's wish to call a tool, its arguments still text. */
export interface ModelToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** Fields of the service's own, such as a signature, which it wants to have back with the call. */
  readonly extra?: JsonObject
}

/** What a call gave, as text for the model. */
export interface ToolResult {
  readonly content: string
  readonly failed: boolean
  /** What the tool threw. */
  readonly error?: A2AError
}

/** What the first call that ends the turn says of the answer; undefined where none of them does. */
export function endOf(
  tools: readonly Tool[],
  calls: readonly ModelToolCall[],
): JsonObject | undefined {
  for (const call of calls) {
    const tool = tools.find(({ name }) => name === call.name)
    const args = tool?.ends && parseArguments(call.arguments)
    if (tool?.ends && args) return tool.ends(args)
  }
  return undefined
}

/** Whether the user must be asked before a call runs, or what is wrong with it, so that it is not to run at all. */
export type Ruling = 'ask' | { readonly fault: string } | undefined

const noObject = 'The arguments are not a JSON object'

/** What holds for a call before it runs. A rule that cannot decide leaves it to the user. */
export async function ruleOn(
  tools: readonly Tool[],
  call: ModelToolCall,
  log: Logger,
): Promise<Ruling> {
  const tool = tools.find(({ name }) => name === call.name)
  const { approval } = tool ?? {}
  if (!tool || approval === undefined || approval === false) return undefined
  const args = parseArguments(call.arguments)
  if (!args) return { fault: noObject }
  try {
    const fault = await tool.check?.(args)
    if (fault !== undefined) return { fault }
    return approval === true || (await approval.call(tool, args)) ? 'ask' : undefined
  } catch (error) {
    log.warn({ tool: call.name, error }, 'whether a tool needs approval could not be decided')
    return 'ask'
  }
}

/**
 * Runs one call. Whatever goes wrong in it is a result for the model, except the end of the turn, which is thrown.
 * Long results are cut, so that one tool cannot fill the model's context.
 */
export async function runTool(
  tools: readonly Tool[],
  call: ModelToolCall,
  context: ToolContext,
): Promise<ToolResult> {
  const tool = tools.find((candidate) => candidate.name === call.name)
  if (!tool) return failedCall(`There is no tool named ${call.name}`)
  const args = parseArguments(call.arguments)
  if (!args) return failedCall(noObject)
  try {
    return { content: toText(await tool.execute(args, context)), failed: false }
  } catch (error) {
    context.signal.throwIfAborted()
    context.turn.log.warn({ tool: call.name, error }, 'a tool failed')
    const result = failedCall(error instanceof Error ? error.message : 'The tool failed')
    const words = `The tool ${call.name} failed`
    return {
      ...result,
      error: new A2AError('processingError', words, { cause: error, why: 'toolThrew' }),
    }
  }
}

const maxResultLength = 100_000

function toText(result: ToolOutput | undefined): string {
  const text = typeof result === 'string' ? result : (JSON.stringify(result) ?? '')
  return text.length > maxResultLength ? `${text.slice(0, maxResultLength)}\n[cut]` : text
}

/** The arguments of a call; models send an empty string where a tool takes none. */
export function parseArguments(text: string): JsonObject | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return value as JsonObject // an object that JSON.parse made holds nothing but JSON
  } catch {
    return undefined
  }
}

/** The result of a call that did not come to anything. */
export function failedCall(reason: string): ToolResult {
  return { content: `Error: ${reason}`, failed: true }
}

/** What a user's answer to an approval says. */
export type ApprovalVerdict = 'yes' | 'no' | 'unclear'

/**
 * Reads the answer to an approval: a word of the lists and nothing else, whatever its case and closing punctuation, or
 * a data part `{"approved": true}` or `{"approved": false}`, whatever is said beside it. What says both is unclear, and
 * so is everything else: nobody has approved by "no, don't", and "yes, but" is no yes.
 */
export function readVerdict(parts: readonly Part[]): ApprovalVerdict {
  const data = parts.flatMap((part) => ('data' in part ? verdictOfData(part) : []))
  const clear = new Set([...data, verdictOfText(textOf(parts))])
  clear.delete('unclear')
  const [verdict = 'unclear'] = clear
  return clear.size === 1 ? verdict : 'unclear'
}

/**
 * What a user may say to an approval, in lower case and without closing punctuation. Only these words decide; whoever
 * says more or something else is asked again. A further language is a further line in each list.
 */
const words: Readonly<Record<'yes' | 'no', ReadonlySet<string>>> = {
  yes: new Set([
    ...['yes', 'y', 'yes please', 'ok', 'okay', 'approve', 'approved', 'go', 'go ahead'],
    ...['ja', 'j', 'ja bitte', 'jawohl', 'genehmigt', 'freigegeben', 'einverstanden'],
  ]),
  no: new Set([
    ...['no', 'n', 'no thanks', 'reject', 'rejected', 'stop', 'cancel'],
    ...['nein', 'nein danke', 'abgelehnt', 'ablehnen', 'stopp', 'abbrechen'],
  ]),
}

/** Longer than any word of the lists with its punctuation: not worth a look. */
const maxLength = 100

function verdictOfText(text: string): ApprovalVerdict {
  if (text.length > maxLength) return 'unclear'
  const word = trimEnd(text.normalize('NFKC').trim().toLowerCase(), '.!… ')
  if (words.yes.has(word)) return 'yes'
  return words.no.has(word) ? 'no' : 'unclear'
}

function verdictOfData({ data }: Extract<Part, { readonly data: unknown }>): ApprovalVerdict {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return 'unclear'
  const [[key, approved] = [], ...others] = Object.entries(data)
  if (key !== 'approved' || others.length > 0 || typeof approved !== 'boolean') return 'unclear'
  return approved ? 'yes' : 'no'
}

/** What a trace calls the verdicts. */
export const verdictNames: Readonly<Record<ApprovalVerdict, 'approved' | 'rejected' | 'unclear'>> =
  {
    yes: 'approved',
    no: 'rejected',
    unclear: 'unclear',
  }

/** What stands before a question that is asked again. */
export const askedAgain = 'That was neither a yes nor a no. Please answer yes or no.\n\n'

/** Why a task is rejected whose user did not approve. */
export const notApproved = 'The user did not approve'

/** Ends a task because its user did not approve; a team that the agent is a member of ends likewise. */
export function toRefusal(turn: Turn, reason: string = notApproved): Draft {
  const metadata = { [approvalExtension]: { approved: false } }
  const message = { ...turn.reply(reason), metadata }
  return { statusUpdate: { status: { state: 'TASK_STATE_REJECTED', message } } }
}

/** Whether the metadata of a rejected answer say that it was the user who did not approve. */
export function isRefusal(metadata: JsonObject | undefined): boolean {
  const said = metadata?.[approvalExtension]
  return typeof said === 'object' && said !== null && 'approved' in said && said.approved === false
}

/**
 * Has tools ask the user before they run: all of them, or those that are named.
 * @returns the tools, or which of the names is not one of theirs.
 */
export function requireApproval(
  tools: readonly Tool[],
  names: ApprovalNames = false,
):
  | { readonly tools: readonly Tool[]; readonly unknown?: undefined }
  | { readonly unknown: string } {
  if (names === false) return { tools }
  const all = new Set(tools.map(({ name }) => name))
  // A tool of an MCP server may be named as the server names it.
  const wanted = names === true ? all : new Set(names.map(toToolName))
  const unknown = names === true ? undefined : names.find((name) => !all.has(toToolName(name)))
  if (unknown !== undefined) return { unknown }
  return {
    tools: tools.map((tool) => (wanted.has(tool.name) ? wrapTool(tool, { approval: true }) : tool)),
  }
}

/** How an agent shows itself as a tool; its own name and words if absent. */
export interface AsToolOptions {
  /** What the model calls it by. */
  readonly name?: string
  /** What the model is told of it. */
  readonly description?: string
}

/**
 * Makes a tool for a model of an agent: the model asks it in words and gets its answer as text. The agent works within
 * the model's turn and is cancelled with it.
 */
export async function asTool(agent: Agent, options: AsToolOptions = {}): Promise<Tool> {
  checkArgument('asTool', 'the agent', agent, 'object')
  checkOptions('asTool', options, { name: 'string', description: 'string' })
  const info = await agent.info()
  const name = toToolName(options.name ?? info.id)
  return {
    name,
    description: options.description ?? info.description,
    parameters: {
      type: 'object',
      properties: { message: { type: 'string', description: `What to ask ${info.name}` } },
      required: ['message'],
    },
    async execute({ message: text }, { turn, signal }) {
      if (typeof text !== 'string' || text === '') throw new Error('message must be a text')
      return toToolText(await askAside(agent, text, { turn, space: `${name}:${text}`, signal }))
    },
  }
}

/** The answer or the question as text; a failure is thrown, for the model to hear of. */
function toToolText(task: Task): string {
  const { state, message } = task.status
  const words = message ? textOf(message.parts) : ''
  if (isTerminal(state) && state !== 'TASK_STATE_COMPLETED')
    throw new Error(words || 'The agent could not answer')
  if (state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED')
    return words || 'The agent needs more information'
  return answerParts(task).map(partText).join('')
}

function partText(part: Part): string {
  if ('text' in part) return part.text
  if ('data' in part) return JSON.stringify(part.data)
  return `[${part.filename ?? part.mediaType ?? 'file'}]`
}
