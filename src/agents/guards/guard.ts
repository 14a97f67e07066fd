import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Json, JsonObject, Part } from '../../protocol/types.ts'
import type { Turn } from '../agent.ts'

/**
 * Guards look at what goes into an agent and at what comes out of it. They run in order, each on what the one before
 * left. One that cannot decide, because it throws or gives something else than a verdict, blocks.
 */

/** What a guard decides on. */
export interface GuardContent {
  /** Its words; those of content that is data alone are the data as JSON. */
  readonly text: string
  /** The data of its data part, a list of them where there are several, undefined where there is none. */
  readonly data: Json | undefined
  /** All of it, files among them. */
  readonly parts: readonly Part[]
}

/** Which side of an agent a guard stands on. */
export type GuardSide = 'input' | 'output'

/**
 * What content is: a message to the agent, earlier turns that come along with it, its answer, a question to the user, or
 * words on what is going on.
 */
export type ContentKind = 'message' | 'history' | 'answer' | 'question' | 'status'

/** What a guard knows beside the content. */
export interface GuardContext {
  /** Whether it is a message to the agent or something from it. */
  readonly at: GuardSide
  /** What the content is. */
  readonly kind: ContentKind
  /** The turn in which it is said. */
  readonly turn: Turn
}

/** What a guard decides. The reason of a block is told to the caller, so the content has no place in it. */
export type GuardVerdict =
  | { readonly verdict: 'allow' }
  | { readonly verdict: 'replace'; readonly text: string; readonly reason?: string }
  | { readonly verdict: 'replace'; readonly parts: readonly Part[]; readonly reason?: string }
  | { readonly verdict: 'block'; readonly reason: string }

/**
 * A guard of your own. Its verdict is a durable step: it is not called again for the same content when the turn runs
 * again after a crash.
 */
export type GuardFunction = (
  content: GuardContent,
  context: GuardContext,
) => GuardVerdict | Promise<GuardVerdict>

/** What becomes of content in which a guard finds something. */
export type GuardAction = 'block' | 'replace'

/** Keeps content between a least and a most number of characters. */
export interface LengthGuard {
  readonly use: 'length'
  /** The most characters. */
  readonly max?: number
  /** The least characters. */
  readonly min?: number
  /** What becomes of content that is too long: `block` if absent; `replace` cuts it. */
  readonly action?: GuardAction
}

/** Blocks what does not fit a schema: the data, or the text read as JSON. */
export interface SchemaGuard {
  readonly use: 'json-schema'
  /** What the data must fit. */
  readonly schema: StandardSchemaV1 | JsonObject
}

/** Looks for a regular expression that is denied or required. */
export interface PatternGuard {
  readonly use: 'pattern'
  /** A regular expression of which there must be no match. */
  readonly deny?: string
  /** A regular expression of which there must be a match. */
  readonly require?: string
  /** What becomes of what is denied: `block` if absent; `replace` takes it out. */
  readonly action?: GuardAction
}

/** Finds keys, tokens and passwords, or email addresses. */
export interface FinderGuard {
  readonly use: 'secrets' | 'email'
  /** What becomes of what is found: `replace` if absent, which takes it out. */
  readonly action?: GuardAction
}

/** A guard that comes with Corral, with its settings. */
export type BuiltInGuard = LengthGuard | SchemaGuard | PatternGuard | FinderGuard

/** A member of the team, or an agent of the same file, is asked with the content and answers with the verdict. */
export interface MemberGuard<Id extends string = string> {
  /** Its id. */
  readonly member: Id
}

/** A file whose default export is the guard's function; in configuration files only. */
export interface ModuleGuard {
  /** The file, relative to the configuration. */
  readonly module: string
  /** The function, once the file is loaded. */
  readonly load?: GuardFunction
}

/** A guard as you write it: a name, settings, a function, a member or a file. */
export type GuardRule<Id extends string = string> =
  | 'secrets'
  | 'email'
  | BuiltInGuard
  | GuardFunction
  | MemberGuard<Id>
  | ModuleGuard

/** The guards of an agent, a step or a team. */
export interface Guards<Id extends string = string> {
  /** Guards on every message before the agent sees it. What one blocks is REJECTED. */
  readonly input?: readonly GuardRule<Id>[]
  /** Guards on everything the agent says before the caller hears it. What one blocks is FAILED. */
  readonly output?: readonly GuardRule<Id>[]
}
