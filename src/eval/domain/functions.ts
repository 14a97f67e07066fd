import type { Json, JsonObject } from '../../protocol/types.ts'
import type { Domain, ToolKind } from './environment.ts'
import type { EvalTask } from './task.ts'
import { openWorld } from './world.ts'

/** Both halves of a world while functions work on them: plain JSON that they change in place. */
export interface World<S = unknown, U = unknown> {
  agent: S
  user: U
}

/** A tool as a function. What it returns is told to the caller; what it throws is told as an error. */
export interface ToolFunction<S = unknown, U = unknown> {
  readonly description: string
  /** JSON Schema of the arguments; a call that breaks it is not executed. */
  readonly parameters: JsonObject
  /** `write` if absent: an unknown tool is taken to change the world. */
  readonly kind?: ToolKind
  run(args: JsonObject, world: World<S, U>): Json | Promise<Json>
}

/** A function of a domain that is no tool: it sets a task up, or says whether something is so. */
export type DomainFunction<S = unknown, U = unknown> = (
  args: JsonObject,
  world: World<S, U>,
) => unknown

/** The functions of a domain: what a tools module exports. */
export interface ToolModule<S = unknown, U = unknown> {
  readonly tools: Readonly<Record<string, ToolFunction<S, U>>>
  readonly userTools?: Readonly<Record<string, ToolFunction<S, U>>>
  /** Set-up functions and assertions, by name. */
  readonly functions?: Readonly<Record<string, DomainFunction<S, U>>>
  /** Brings the two halves of the world in line. */
  readonly sync?: (world: World<S, U>) => void
}

/** A domain whose tools are functions over plain JSON state. */
export interface FunctionDomain<S = unknown, U = unknown> {
  readonly name: string
  readonly policy: string
  readonly tasks: readonly EvalTask[]
  readonly splits?: Readonly<Record<string, readonly string[]>>
  readonly state: S
  /** Null where the user has no state of their own. */
  readonly userState: U
  readonly module: ToolModule<S, U>
}

/** Declares a domain whose tools are functions; every simulation works on its own copy of the state. */
export function defineDomain<S, U>(domain: FunctionDomain<S, U>): Domain {
  const { name, policy, tasks, splits = {} } = domain
  return { name, policy, tasks, splits, open: (task) => openWorld(domain, task) }
}
