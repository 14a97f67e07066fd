import type { Part } from '../../src/protocol/types.ts'
import { askedTool } from '../logic/asked-tool.ts'
import { memberName } from '../logic/words.ts'
import { JsonTree } from './json-tree.tsx'

/** Which tool waits for a yes, and what it would be given. */
export function ToolQuestion({ parts }: { readonly parts: readonly Part[] }) {
  const asked = askedTool(parts)
  if (!asked) return null
  return (
    <div class="tool-question">
      <p>
        <span class="chip wait">tool</span>{' '}
        {asked.agent && `${memberName(asked.agent)} wants to run `}
        <b>{asked.tool}</b>
      </p>
      <JsonTree value={asked.arguments} />
      {asked.notShown > 0 && (
        <p class="faint">{asked.notShown.toLocaleString('en')} characters are not shown.</p>
      )}
    </div>
  )
}
