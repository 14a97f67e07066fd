import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { toMetricsLine } from '../metrics/export.ts'
import type { ProtocolMetrics } from '../metrics/metrics.ts'

/** The run's requests as JSON Lines, written as they happen (S001-82). */
export interface MetricsLog {
  write(record: ProtocolMetrics, taskId: string): void
  close(): Promise<void>
}

/** Appends to `metrics.jsonl` in the run's directory; writes nothing where there is none. */
export function createMetricsLog(directory: string | undefined): MetricsLog {
  if (directory === undefined) return { write: () => {}, close: async () => {} }
  const stream = createWriteStream(join(directory, 'metrics.jsonl'), { flags: 'a' })
  return {
    write: (record, task_id) => void stream.write(toMetricsLine({ ...record, task_id })),
    async close() {
      stream.end()
      await finished(stream)
    },
  }
}
