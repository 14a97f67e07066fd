import type { ClientToolCall, OfferedTool } from '../../protocol/client-tools.ts'
import type { JsonObject } from '../../protocol/types.ts'
import { isFields } from '../../shared/json.ts'
import { isNeutral, objectField, wrong } from './fields.ts'

const toolName = /^[a-zA-Z0-9_-]{1,64}$/

/** A request's tools for an agent that takes them. @throws A2AError `invalidParams` that names the field. */
export function toClientTools(tools: readonly unknown[]): readonly OfferedTool[] {
  return tools.map((given, index) => {
    const field = `tools[${index}]`
    const { type, function: described } = objectField(given, field)
    if (type !== 'function') throw wrong(`${field}.type`, 'must be "function"')
    const { name, description, parameters } = objectField(described, `${field}.function`)
    if (typeof name !== 'string' || !toolName.test(name))
      throw wrong(`${field}.function.name`, 'must be 1 to 64 letters, digits, _ or -')
    if (!isNeutral(parameters) && !isFields(parameters))
      throw wrong(`${field}.function.parameters`, 'must be a JSON Schema of an object')
    return {
      name,
      description: typeof description === 'string' ? description : '',
      parameters: isNeutral(parameters) ? noParameters : (parameters as JsonObject), // it came out of JSON.parse
    }
  })
}

const noParameters: JsonObject = { type: 'object', properties: {} }

/** Calls as OpenAI's clients read them. */
export function toOpenAIToolCalls(calls: readonly ClientToolCall[]): readonly object[] {
  return calls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }))
}
