import type { Json, JsonObject } from '../../protocol/types.ts'
import { messageOf } from '../base/errors.ts'
import { hashOf, isJsonObject } from '../base/json.ts'
import { type CallCheck, createCallCheck, refusedCall } from './call-check.ts'
import type { Requestor } from './conversation.ts'
import type {
  Domain,
  Environment,
  Snapshot,
  ToolDescriptor,
  ToolKind,
  ToolOutcome,
} from './environment.ts'
import { replayHistory } from './history.ts'
import type { EvalTask, GoldAction } from './task.ts'

/** Both halves of a world while functions work on them: plain JSON that they change in place. */
export interface World<S = unknown, U = unknown> {
  /** The agent's half. */
  agent: S
  /** The user's half. */
  user: U
}

/** A tool as a function. What it returns is told to the caller; what it throws is told as an error. */
export interface ToolFunction<S = unknown, U = unknown> {
  /** What it does, for the agent. */
  readonly description: string
  /** JSON Schema of the arguments; a call that breaks it is not executed. */
  readonly parameters: JsonObject
  /** `write` if absent: an unknown tool is taken to change the world. */
  readonly kind?: ToolKind
  /** Does the work; it may change the world in place. */
  run(args: JsonObject, world: World<S, U>): Json | Promise<Json>
}

/** A function of a domain beside its tools: it sets a task up, or says whether something is so. */
export type DomainFunction<S = unknown, U = unknown> = (
  args: JsonObject,
  world: World<S, U>,
) => unknown

/** The functions of a domain: what a tools module exports. */
export interface ToolModule<S = unknown, U = unknown> {
  /** The agent's tools, by name. */
  readonly tools: Readonly<Record<string, ToolFunction<S, U>>>
  /** The user's own tools, by name. */
  readonly userTools?: Readonly<Record<string, ToolFunction<S, U>>>
  /** Set-up functions and assertions, by name. */
  readonly functions?: Readonly<Record<string, DomainFunction<S, U>>>
  /** Brings the two halves of the world in line. */
  readonly sync?: (world: World<S, U>) => void
}

/** A domain whose tools are functions over plain JSON state. */
export interface FunctionDomain<S = unknown, U = unknown> {
  readonly name: string
  /** The rules that the agent is judged by; sent to it in its first message. */
  readonly policy: string
  readonly tasks: readonly EvalTask[]
  /** Named selections of task ids. */
  readonly splits?: Readonly<Record<string, readonly string[]>>
  /** The agent's half of the world, where every simulation begins. */
  readonly state: S
  /** The user's half; null where the user has no state of their own. */
  readonly userState: U
  /** Its tools and functions. */
  readonly module: ToolModule<S, U>
}

/** Makes a domain whose tools are functions; every simulation works on its own copy of the state. */
export function defineDomain<S, U>(domain: FunctionDomain<S, U>): Domain {
  const { name, policy, tasks, splits = {}, module } = domain
  const offered = {
    assistant: describe(module.tools),
    user: describe(module.userTools ?? {}),
  }
  const checks = {
    assistant: createCallCheck(offered.assistant),
    user: createCallCheck(offered.user),
  }
  const open = (task: EvalTask): Promise<Environment> =>
    openWorld(domain, task, { offered, checks })
  return { name, policy, tasks, splits, open }
}

/** The tools of both sides as callers are told of them, and what is checked before one runs. */
interface Offer {
  readonly offered: Readonly<Record<Requestor, readonly ToolDescriptor[]>>
  readonly checks: Readonly<Record<Requestor, CallCheck>>
}

/** A fresh world of a function domain, in the task's initial state. */
async function openWorld<S, U>(
  domain: FunctionDomain<S, U>,
  task: EvalTask,
  offer: Offer,
): Promise<Environment> {
  const data = task.initial_state?.initialization_data
  const world = {
    agent: merge(structuredClone(domain.state), data?.agent_data),
    user: merge(structuredClone(domain.userState), data?.user_data),
  }
  const environment = createEnvironment(domain.module, world, offer)
  for (const action of task.initial_state?.initialization_actions ?? [])
    await environment.initialise(action)
  await environment.sync()
  await replayHistory(environment, task)
  return environment
}

function createEnvironment<S, U>(
  module: ToolModule<S, U>,
  world: World<S, U>,
  { offered, checks }: Offer,
): Environment {
  const sync = async (): Promise<void> => module.sync?.(world)
  return {
    tools: offered.assistant,
    userTools: offered.user,
    kindOf: (name, side) => {
      const tool = toolOf(module, { name, requestor: side })
      return tool && (tool.kind ?? 'write')
    },
    async call(call) {
      const problem = checks[call.requestor](call)
      if (problem) return refusedCall(problem)
      const outcome = await execute(module, call, world)
      await sync()
      return outcome
    },
    apply: (action) => execute(module, action, world),
    sync,
    async initialise(action) {
      await functionOf(module, action.func_name)(action.arguments, world)
    },
    async assert({ func_name, arguments: args, assert_value = true }) {
      return Boolean(await functionOf(module, func_name)(args, world)) === assert_value
    },
    // A world is plain JSON by contract of `FunctionDomain`.
    snapshot: async () => structuredClone<unknown>(world) as Snapshot,
    hash: async () => ({
      agent: hashOf(world.agent),
      user: world.user === null ? null : hashOf(world.user),
    }),
    close: async () => {},
  }
}

async function execute<S, U>(
  module: ToolModule<S, U>,
  action: GoldAction,
  world: World<S, U>,
): Promise<ToolOutcome> {
  const tool = toolOf(module, action)
  if (!tool) return { content: `Error: Tool '${action.name}' not found`, error: true }
  try {
    const value = await tool.run(structuredClone(action.arguments), world)
    return { content: toContent(value), error: false }
  } catch (error) {
    return { content: `Error: ${messageOf(error)}`, error: true }
  }
}

function toolOf<S, U>(
  module: ToolModule<S, U>,
  { name, requestor }: Pick<GoldAction, 'name' | 'requestor'>,
): ToolFunction<S, U> | undefined {
  const tools = requestor === 'user' ? (module.userTools ?? {}) : module.tools
  return Object.hasOwn(tools, name) ? tools[name] : undefined
}

function functionOf<S, U>(module: ToolModule<S, U>, name: string): DomainFunction<S, U> {
  const found = Object.hasOwn(module.functions ?? {}, name) ? module.functions?.[name] : undefined
  if (!found) throw new Error(`The domain has no function '${name}'`)
  return found
}

function describe<S, U>(
  tools: Readonly<Record<string, ToolFunction<S, U>>>,
): readonly ToolDescriptor[] {
  return Object.entries(tools).map(([name, { description, parameters }]) => ({
    name,
    description,
    parameters,
  }))
}

/** What a caller reads: text as it is, everything else as JSON. */
function toContent(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

/** Deep merge of a task's data over the domain's; lists and plain values are replaced. */
function merge<T>(base: T, over: JsonObject | null | undefined): T {
  if (over === null || over === undefined) return base
  // The task's author speaks of the same shape as the domain's; JSON gives no way to check it.
  return mergeJson(base, structuredClone(over)) as T
}

function mergeJson(base: unknown, over: JsonObject): JsonObject {
  const merged: Record<string, Json | undefined> = isJsonObject(base) ? { ...base } : {}
  for (const [key, value] of Object.entries(over))
    merged[key] =
      isJsonObject(value) && isJsonObject(merged[key]) ? mergeJson(merged[key], value) : value
  return merged
}
