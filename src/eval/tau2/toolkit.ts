import type { ToolDescriptor } from '../domain/domain.ts'
import { attributeError, type PythonError, typeError, valueError } from './python/error.ts'
import type { Instance, Value } from './python/value.ts'
import { describeTools, type ParameterWords, type ToolWords } from './schemas.ts'
import type { Database } from './state/database.ts'

/** What a method works on, Python's `self`: the toolkit's database, and its other attributes. */
export interface Self {
  db: Database
  readonly attributes: Readonly<Record<string, Instance>>
}

/** A method of a toolkit: its parameters, and its work. What it returns is Python's return value. */
export interface Method {
  readonly required: readonly string[]
  readonly optional: Readonly<Record<string, Value>>
  run(self: Self, args: Readonly<Record<string, Value>>): Value | undefined
}

/** One side of a domain: the agent's tools or the user's, and the functions that tasks call besides. */
export interface Toolkit {
  /** The name of tau2's class, which its errors give. */
  readonly name: string
  readonly words: Readonly<Record<string, ToolWords>>
  /** The tools as callers are told of them. */
  readonly descriptors: readonly ToolDescriptor[]
  readonly methods: ReadonlyMap<string, Method>
  /** The attributes of a fresh `self` beside its database. */
  attributes(): Readonly<Record<string, Instance>>
}

/** The work of every tool, by the names of its parameters. */
export type Tools<W extends Readonly<Record<string, ToolWords>>> = {
  readonly [K in keyof W]: (
    self: Self,
    args: { readonly [P in keyof W[K]['parameters']]: Value },
  ) => Value | undefined
}

/** What a toolkit is made of. */
interface ToolkitParts<W extends Readonly<Record<string, ToolWords>>> {
  readonly name: string
  readonly words: W
  readonly tools: Tools<W>
  readonly functions?: Readonly<Record<string, Method>>
  readonly attributes?: () => Readonly<Record<string, Instance>>
}

/** Declares a toolkit; that every tool with words has its work is checked by type. */
export function defineToolkit<const W extends Readonly<Record<string, ToolWords>>>(
  parts: ToolkitParts<W>,
): Toolkit {
  const { name, words, tools, functions = {}, attributes = () => ({}) } = parts
  const methods = Object.entries(words).map(([tool, { parameters }]): [string, Method] => {
    // The binding has given every parameter a value when a tool runs.
    const run = tools[tool] as Method['run']
    return [tool, { ...signatureOf(parameters), run }]
  })
  return {
    name,
    words,
    descriptors: describeTools(words),
    methods: new Map([...methods, ...Object.entries(functions)]),
    attributes,
  }
}

/** Declares a function that is no tool. */
export function method<const R extends string, const O extends string = never>(
  required: readonly R[],
  run: (self: Self, args: { readonly [P in R | O]: Value }) => Value | undefined,
  optional: Readonly<Record<O, Value>> = {} as Readonly<Record<O, Value>>, // none named, none needed
): Method {
  // The binding gives every parameter a value before it runs.
  return { required, optional, run: run as Method['run'] }
}

function signatureOf(
  parameters: Readonly<Record<string, ParameterWords>>,
): Pick<Method, 'required' | 'optional'> {
  const all = Object.entries(parameters)
  return {
    required: all.filter(([, { default: value }]) => value === undefined).map(([name]) => name),
    optional: Object.fromEntries(
      all.flatMap(([name, { default: value }]) => (value === undefined ? [] : [[name, value]])),
    ),
  }
}

/** Names that tau2's own functions take on the way to a tool, and what Python says when a call uses one. */
const taken: Readonly<Record<string, string>> = {
  self: "Environment.make_tool_call() got multiple values for argument 'self'",
  tool_name: "Environment.make_tool_call() got multiple values for argument 'tool_name'",
  requestor:
    "tau2.environment.environment.Environment.make_tool_call() got multiple values for keyword argument 'requestor'",
}

/** Calls a tool. */
export function useTool(
  toolkit: Toolkit,
  self: Self,
  call: { readonly name: string; readonly arguments: ReadonlyMap<string, Value> },
): Value | undefined {
  const clash = Object.keys(taken).find((name) => call.arguments.has(name))
  if (clash !== undefined) throw typeError(taken[clash] ?? '')
  if (!Object.hasOwn(toolkit.words, call.name)) throw valueError(`Tool '${call.name}' not found.`)
  return runMethod(toolkit, self, call)
}

/** Calls a tool or a function, as a task's set-up and its assertions do. */
export function runMethod(
  toolkit: Toolkit,
  self: Self,
  {
    name,
    arguments: given,
  }: { readonly name: string; readonly arguments: ReadonlyMap<string, Value> },
): Value | undefined {
  const found = toolkit.methods.get(name)
  if (!found) throw attributeError({ type: toolkit.name }, name)
  return found.run(self, bind(found, given, `${toolkit.name}.${name}()`))
}

/** Arguments by name, as Python binds them: unknown names first, then missing ones, in its words. */
function bind(
  { required, optional }: Method,
  given: ReadonlyMap<string, Value>,
  who: string,
): Readonly<Record<string, Value>> {
  if (given.has('self')) throw typeError(`${who} got multiple values for argument 'self'`)
  for (const name of given.keys())
    if (!required.includes(name) && !Object.hasOwn(optional, name))
      throw typeError(`${who} got an unexpected keyword argument '${name}'`)
  const missing = required.filter((name) => !given.has(name))
  if (missing.length > 0) throw missingError(who, missing)
  return { ...optional, ...Object.fromEntries(given) }
}

function missingError(who: string, names: readonly string[]): PythonError {
  const quoted = names.map((name) => `'${name}'`)
  const last = quoted.slice(-1).join()
  const comma = quoted.length > 2 ? ',' : ''
  const list = quoted.length > 1 ? `${quoted.slice(0, -1).join(', ')}${comma} and ${last}` : last
  const noun = names.length === 1 ? 'argument' : 'arguments'
  return typeError(`${who} missing ${names.length} required positional ${noun}: ${list}`)
}
