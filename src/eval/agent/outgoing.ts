import type { JsonObject } from '../../protocol/types.ts'
import { isObject } from '../base/json.ts'

/** A tool as the agent under test is told of it: name, words, and JSON Schema of its parameters. */
export interface ToolDescriptor {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

const howTo =
  'To use a tool, respond with JSON: {"tool_call": {"name": "tool_name", "arguments": {"param1": "value"}}}'

/** The text that tells an agent of its tools and how to call them; empty without tools. */
export function formatTools(tools: readonly ToolDescriptor[]): string {
  if (tools.length === 0) return ''
  return `<available_tools>\n${tools.map(formatToolAsText).join('\n')}\n</available_tools>\n\n${howTo}`
}

/** One tool as text: signature, description, and its parameters where it has any. */
export function formatToolAsText(tool: ToolDescriptor): string {
  const parameters = parametersOf(tool.parameters)
  const signature = parameters.map(({ name, type }) => `${name}: ${type}`).join(', ')
  const lines = [`- ${tool.name}(${signature})`, `  Description: ${tool.description}`]
  if (parameters.length > 0) lines.push('  Parameters:', ...parameters.map(formatParameter))
  return lines.join('\n')
}

interface Parameter {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly description: string
}

function formatParameter({ name, type, required, description }: Parameter): string {
  const head = `    - ${name} (${type}, ${required ? 'required' : 'optional'})`
  return description === '' ? head : `${head}: ${description}`
}

function parametersOf(schema: JsonObject): Parameter[] {
  const { properties, required } = schema
  if (!isObject(properties)) return []
  const needed = Array.isArray(required) ? required : []
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: isObject(property) && typeof property.type === 'string' ? property.type : 'any',
    required: needed.includes(name),
    description:
      isObject(property) && typeof property.description === 'string' ? property.description : '',
  }))
}
