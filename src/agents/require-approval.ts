import type { ApprovalNames } from './tool-config.ts'
import { type Tool, toToolName, wrapTool } from './tools.ts'

/** Tools that ask the user as they are told to, or which of the names is not one of theirs. */
type Required =
  | { readonly tools: readonly Tool[]; readonly unknown?: undefined }
  | { readonly unknown: string }

/** Has tools ask the user before they run: all of them, or those that are named. */
export function requireApproval(tools: readonly Tool[], names: ApprovalNames = false): Required {
  if (names === false) return { tools }
  const all = new Set(tools.map(({ name }) => name))
  // A tool of an MCP server may be named as the server names it.
  const wanted = names === true ? all : new Set(names.map(toToolName))
  const unknown = names === true ? undefined : names.find((name) => !all.has(toToolName(name)))
  if (unknown !== undefined) return { unknown }
  return {
    tools: tools.map((tool) => (wanted.has(tool.name) ? wrapTool(tool, { approval: true }) : tool)),
  }
}
