import { toShownEntry } from '../engine/trace.ts'
import { traceExtension } from '../protocol/extensions.ts'
import type { JsonObject, Task } from '../protocol/types.ts'
import type { CheckedCall } from './gate.ts'
import type { Service } from './service.ts'

/** Whether the caller has activated the trace extension. */
export function wantsTrace({ extensions }: CheckedCall): boolean {
  return extensions.includes(traceExtension)
}

/** A task with its whole trace in the metadata, oldest entry first. */
export async function withTrace(engine: Service['engine'], task: Task): Promise<Task> {
  const records = await engine.trace(task.id)
  const entries: JsonObject[] = records.flatMap((record) =>
    record.kind === 'trace' ? [{ seq: record.seq, at: record.at, ...toShownEntry(record) }] : [],
  )
  return { ...task, metadata: { ...task.metadata, [traceExtension]: entries } }
}
