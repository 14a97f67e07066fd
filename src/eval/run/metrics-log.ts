import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { toMetricsLine } from '../metrics/export.ts'
import type { ProtocolMetrics } from '../metrics/metrics.ts'
import type { AttemptedJob } from './options.ts'

/** The run's requests as JSON Lines, written as they happen (S001-82). */
export interface MetricsLog {
  /** Without a job the record is one of the discovery. */
  write(record: ProtocolMetrics, job?: AttemptedJob): void
  close(): Promise<void>
}

/** Appends to `metrics.jsonl` in the run's directory; writes nothing where there is none. */
export function createMetricsLog(directory: string | undefined): MetricsLog {
  if (directory === undefined) return { write: () => {}, close: async () => {} }
  const stream = createWriteStream(join(directory, 'metrics.jsonl'), { flags: 'a' })
  return {
    write: (record, job) => {
      const place = job && { trial: job.trial, attempt: job.attempt }
      const task_id = job ? job.task.id : null
      stream.write(toMetricsLine({ ...record, ...place, task_id }))
    },
    async close() {
      stream.end()
      await finished(stream)
    },
  }
}
