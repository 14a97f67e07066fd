import type { Part } from '../../src/protocol/types.ts'
import { askedTool } from '../logic/asked-tool.ts'
import { MessageParts } from './message-parts.tsx'
import { ToolQuestion } from './tool-question.tsx'

/** What a message says. A question about a tool has the arguments in its words and in its data: they are shown once. */
export function MessageWords({ parts }: { readonly parts: readonly Part[] }) {
  return askedTool(parts) ? <ToolQuestion parts={parts} /> : <MessageParts parts={parts} />
}
