import type { Part } from '../../src/protocol/types.ts'
import { isFields } from '../../src/shared/json.ts'

/** A tool that an agent may use only if the user says yes. */
interface AskedTool {
  readonly agent: string
  readonly tool: string
  readonly arguments: unknown
  /** How many characters of the arguments are not shown. */
  readonly notShown: number
}

/** The tool that a question is about, as its data part tells; undefined where it is about something else. */
export function askedTool(parts: readonly Part[]): AskedTool | undefined {
  for (const part of parts) {
    if (!('data' in part) || !isFields(part.data) || !isFields(part.data.approval)) continue
    const { agent, tool, arguments: args = {}, notShown } = part.data.approval
    if (typeof tool !== 'string') continue
    return {
      agent: typeof agent === 'string' ? agent : '',
      tool,
      arguments: args,
      notShown: typeof notShown === 'number' ? notShown : 0,
    }
  }
  return undefined
}
