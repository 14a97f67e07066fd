/** Tool schemas as pydantic writes them for tau2: titles of names, keys in alphabetical order. */
import type { Json, JsonObject } from '../../protocol/types.ts'
import type { ToolDescriptor, ToolKind } from '../domain/domain.ts'

/** The type of a parameter: a plain one by its Python name, any other by its schema. */
type ParameterType = 'str' | 'int' | 'float' | 'list[str]' | { readonly [key: string]: Json }

/** A parameter of a tool as its signature and its docstring have it. */
export interface ParameterWords {
  readonly type: ParameterType
  readonly description?: string
  /** What it is where a call leaves it out; it must be given if absent. */
  readonly default?: null | bigint | string
}

/** A tool as an agent is told of it. */
export interface ToolWords {
  readonly kind: ToolKind
  readonly description: string
  readonly parameters: Readonly<Record<string, ParameterWords>>
  /** Schemas that parameters refer to. */
  readonly definitions?: { readonly [name: string]: Json }
}

/** The tools of a toolkit as descriptors. */
export function describeTools(
  words: Readonly<Record<string, ToolWords>>,
): readonly ToolDescriptor[] {
  return Object.entries(words).map(([name, { description, ...tool }]) => ({
    name,
    description,
    parameters: schemaOf(tool),
  }))
}

function schemaOf({
  parameters,
  definitions,
}: Pick<ToolWords, 'parameters' | 'definitions'>): JsonObject {
  const all = Object.entries(parameters)
  const properties = all.map(([name, words]) => [name, propertyOf(name, words)])
  const required = all.filter(([, { default: value }]) => value === undefined).map(([name]) => name)
  return {
    ...(definitions && { $defs: definitions }),
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    title: 'parameters',
    type: 'object',
  }
}

const plain: Readonly<Record<string, JsonObject>> = {
  str: { type: 'string' },
  int: { type: 'integer' },
  float: { type: 'number' },
  'list[str]': { items: { type: 'string' }, type: 'array' },
}

function propertyOf(name: string, words: ParameterWords): JsonObject {
  const { type, description, default: value } = words
  const schema = typeof type === 'string' ? (plain[type] ?? {}) : type
  const property = {
    ...(value !== undefined && { default: typeof value === 'bigint' ? Number(value) : value }),
    ...(description !== undefined && { description }),
    title: titleOf(name),
    ...schema,
  }
  return Object.fromEntries(Object.entries(property).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function titleOf(name: string): string {
  return name.replaceAll('_', ' ').replace(/[a-z]+/gi, (word) => {
    return word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()
  })
}
