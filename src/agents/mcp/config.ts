import type { ApprovalNames } from '../tool-config.ts'

/** An MCP server whose tools a model may use: a program spoken to over stdio, or a streamable HTTP endpoint. */
export type McpServerConfig = McpProgram | McpEndpoint

/** An MCP server that is started as a child process. */
export interface McpProgram {
  /** Names the server in errors and, where two servers have a tool of the same name, in the tool's name. */
  readonly name: string
  readonly command: string
  readonly args?: readonly string[]
  /** Added to a small safe environment; the process's own variables are not inherited. */
  readonly env?: Readonly<Record<string, string>>
  /** The folder it runs in; relative to where this process was started, which is also the default. */
  readonly cwd?: string
  /** Tools of the server that the user is asked about before they run. */
  readonly approval?: ApprovalNames
}

/** An MCP server that is reached by HTTP (streamable). */
export interface McpEndpoint {
  /** Names the server in errors and, where two servers have a tool of the same name, in the tool's name. */
  readonly name: string
  readonly url: string
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Tools of the server that the user is asked about before they run. */
  readonly approval?: ApprovalNames
}
