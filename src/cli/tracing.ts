import type { A2AClient, CallOptions } from '../client/index.ts'
import { type Task, traceExtension } from '../index.ts'
import { systemClock } from '../shared/clock.ts'
import type { Screen } from './screen.ts'
import { dim } from './terminal/piece.ts'
import { declaresTrace, traceOf } from './terminal/trace.ts'
import { toTree } from './terminal/tree.ts'
import { toTraceLines } from './terminal/tree-text.ts'

/** What a call needs so that its answer shows what happened inside the task; nothing where the agent has no trace. */
export type Tracing = Pick<CallOptions, 'extensions'>

/** Asks the card whether the agent has a trace. */
export async function tracingOf(client: A2AClient, wanted: boolean): Promise<Tracing> {
  if (!wanted || !declaresTrace(await client.fetchAgentCard())) return {}
  return { extensions: [traceExtension] }
}

/** Writes the trace of a task as a tree. */
export function writeTrace(screen: Screen, task: Pick<Task, 'metadata'>): void {
  const tree = toTree(traceOf(task))
  if (tree.nodes.length === 0) {
    screen.write(dim('There is no trace: nothing was delegated, or the agent shows none.'), '\n')
    return
  }
  const view = { columns: screen.columns, now: systemClock.now() }
  for (const line of toTraceLines(tree, view)) screen.write(...line, '\n')
}
