import type {
  EnvFunctionCall,
  Environment,
  EvalTask,
  GoldAction,
  ToolKind,
  ToolOutcome,
} from '../domain/domain.ts'
import { replayHistory } from '../domain/replay.ts'
import { dictFromJson, fromJson, toJson } from './bridge.ts'
import type { DomainKind } from './kind.ts'
import { dumps } from './python/dumps.ts'
import { attributeError, PythonError, valueError } from './python/error.ts'
import { repr } from './python/text.ts'
import { isDict, isList, typeName, type Value } from './python/value.ts'
import type { ToolWords } from './schemas.ts'
import type { Base } from './state/base.ts'
import { openDatabase } from './state/database.ts'
import { runMethod, type Self, type Toolkit, useTool } from './toolkit.ts'

/** A world of a tau2 domain; besides the contract it says how much of the data it had to copy. */
export interface Tau2Environment extends Environment {
  /** Tells how much of the data it had to copy. */
  copies(): { readonly rows: number; readonly total: number }
}

/** The data of a domain as it was loaded; that of the user is absent where the user has no tools. */
type DomainBases = { readonly agent: Base; readonly user: Base | undefined }

interface Side {
  readonly toolkit: Toolkit
  readonly self: Self
}

interface Sides {
  readonly assistant: Side
  readonly user: Side | undefined
  sync(): void
}

/** A fresh world in a task's initial state: its data, its actions, its message history, with a sync after each. */
export async function openWorld(
  kind: DomainKind,
  bases: DomainBases,
  task: EvalTask,
): Promise<Tau2Environment> {
  const sides = openSides(kind, bases)
  sides.sync()
  const { initialization_data: data, ...initial } = task.initial_state ?? {}
  if (data?.agent_data) update(sides.assistant, sides.user, fromJson(data.agent_data))
  if (data?.user_data) update(needUser(sides), sides.assistant, fromJson(data.user_data))
  for (const action of initial.initialization_actions ?? []) runFunction(sides, action)
  const environment = createEnvironment(sides)
  await replayHistory(environment, task)
  sides.sync()
  return environment
}

function openSides({ agent, user, sync }: DomainKind, bases: DomainBases): Sides {
  const agentSide = openSide(agent.toolkit, bases.agent)
  const userSide = user && bases.user && openSide(user.toolkit, bases.user)
  return {
    assistant: agentSide,
    user: userSide,
    sync: () => {
      if (sync && userSide) sync(agentSide.self, userSide.self)
    },
  }
}

function openSide(toolkit: Toolkit, base: Base): Side {
  return { toolkit, self: { db: openDatabase(base), attributes: toolkit.attributes() } }
}

/** New data makes a new database, and tau2 then gives both sides the same one. */
function update(side: Side, other: Side | undefined, data: Value): void {
  side.self.db = side.self.db.updated(data)
  if (other) other.self.db = side.self.db
}

function createEnvironment(sides: Sides): Tau2Environment {
  const { assistant, user, sync } = sides
  const hashOf = (side: Side | undefined): string | null => side?.self.db.hash() ?? null
  return {
    tools: assistant.toolkit.descriptors,
    userTools: user?.toolkit.descriptors ?? [],
    kindOf: (name, requestor) => kindOf(sides[requestor]?.toolkit.words, name),
    call: async (call) =>
      attempt(() => {
        const value = callTool(sides, call)
        sync()
        return value
      }),
    apply: async (action) => attempt(() => callTool(sides, action)),
    sync: async () => sync(),
    initialise: async (action) => void runFunction(sides, action),
    async assert({ assert_value = true, ...call }) {
      const value = runFunction(sides, call) ?? null
      if (typeof value === 'boolean') return value === assert_value
      const type = `<class '${typeName(value)}'>`
      throw valueError(`Function ${call.func_name} returned ${type} instead of bool`)
    },
    snapshot: async () => ({
      agent: toJson(assistant.self.db.dump()),
      user: user ? toJson(user.self.db.dump()) : null,
    }),
    hash: async () => ({ agent: hashOf(assistant) ?? '', user: hashOf(user) }),
    copies: () => copiesOf([assistant, ...(user ? [user] : [])]),
    close: async () => {},
  }
}

function kindOf(
  words: Readonly<Record<string, ToolWords>> | undefined,
  name: string,
): ToolKind | undefined {
  return words && Object.hasOwn(words, name) ? words[name]?.kind : undefined
}

function copiesOf(sides: readonly Side[]): { readonly rows: number; readonly total: number } {
  const all = [...new Set(sides.map(({ self }) => self.db))].map((db) => db.copies())
  return {
    rows: all.reduce((sum, { rows }) => sum + rows, 0),
    total: all.reduce((sum, { total }) => sum + total, 0),
  }
}

function callTool(
  sides: Sides,
  { name, requestor = 'assistant', arguments: args }: GoldAction,
): Value | undefined {
  const side = sides[requestor]
  if (!side) throw valueError('User tools not available')
  return useTool(side.toolkit, side.self, { name, arguments: dictFromJson(args) })
}

/** An exception is an answer too, and what was changed before it stays changed. */
function attempt(work: () => Value | undefined): ToolOutcome {
  try {
    return { content: toAnswer(work()), error: false }
  } catch (error) {
    if (!(error instanceof PythonError)) throw error
    return { content: `Error: ${error.message}`, error: true }
  }
}

function runFunction(
  sides: Sides,
  { env_type, func_name: name, arguments: args }: EnvFunctionCall,
): Value | undefined {
  const side = sides[env_type]
  if (!side) throw attributeError(null, name)
  const value = runMethod(side.toolkit, side.self, { name, arguments: dictFromJson(args) })
  sides.sync()
  return value
}

function needUser(sides: Sides): Side {
  if (!sides.user) throw attributeError(null, 'update_db')
  return sides.user
}

/**
 * What a tool's value is to its caller (`to_json_str`): a string as it is, everything else as JSON. Numbers outside of a
 * model become strings, so that a bare 15.1 reads `"15.1"` and one inside an order `15.1`.
 */
function toAnswer(value: Value | undefined): string {
  return typeof value === 'string' ? value : dumps(prepare(value ?? null))
}

function prepare(value: Value): Value {
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return repr(value)
  if (isList(value)) return value.map(prepare)
  return isDict(value) ? new Map([...value].map(([key, item]) => [key, prepare(item)])) : value
}
