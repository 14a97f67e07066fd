/** Which tools the user is asked about before they run: all of them, or those that are named. */
export type ApprovalNames = boolean | readonly string[]

/** A file whose tools a model may use. */
export interface ToolModuleConfig {
  /** The file, relative to the configuration: it exports a tool, a list of them, or several under names. */
  readonly module: string
  /** Tools that the user is asked about before they run, beside those that say so themselves. */
  readonly approval?: ApprovalNames
}
