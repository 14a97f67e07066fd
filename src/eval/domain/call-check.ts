import { z } from 'zod'
import type { ToolCall } from './conversation.ts'
import type { ToolDescriptor, ToolOutcome } from './environment.ts'

/** Says why a call cannot be run; undefined when it can. */
export type CallCheck = (call: ToolCall) => string | undefined

/** Makes a check of calls against the tools there are: a known name, arguments that fit its schema. */
export function createCallCheck(tools: readonly ToolDescriptor[]): CallCheck {
  const schemas = new Map(tools.map((tool) => [tool.name, tool.parameters]))
  const compiled = new Map<string, z.ZodType>()
  return (call) => {
    if (call.fault) return call.fault
    const schema = schemas.get(call.name)
    if (!schema) return `Tool '${call.name}' not found`
    const check = compiled.get(call.name) ?? compile(schema)
    compiled.set(call.name, check)
    const result = check.safeParse(call.arguments)
    return result.success ? undefined : `Invalid arguments: ${explain(result.error)}`
  }
}

/** The outcome of a call that is not executed. */
export function refusedCall(problem: string): ToolOutcome {
  return { content: `Error: ${problem}`, error: true, refused: true }
}

function compile(schema: ToolDescriptor['parameters']): z.ZodType {
  // A descriptor's parameters are JSON Schema by contract; zod's own type of it is only narrower in words.
  return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
}

function explain(error: z.ZodError): string {
  return error.issues
    .map((issue) => `${issue.path.join('.') || 'arguments'}: ${issue.message}`)
    .join('; ')
}
