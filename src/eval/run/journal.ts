/**
 * What a run writes while it goes on. The first line of its journal, `journal.jsonl`, is `{"kind":"run", "id",
 * "timestamp", "config_hash"}`, every further one `{"kind":"simulation", "simulation": {…}}`, appended and synced as
 * simulations end. A kill can only cost the last line; a line that is cut off is dropped at the next opening. Beside it
 * `metrics.jsonl` has a line per request.
 */
import { createWriteStream } from 'node:fs'
import { type FileHandle, open, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { finished as streamFinished } from 'node:stream/promises'
import { ValidationError } from '../base/errors.ts'
import { isJsonObject, tryParse } from '../base/json.ts'
import type { ProtocolMetrics } from '../metrics/metrics.ts'
import { toMetricsLine } from '../metrics/summary.ts'
import type { Simulation } from '../results/simulation.ts'
import type { AttemptedJob } from './options.ts'

/** What a journal says of its run. */
export interface JournalHead {
  readonly id: string
  readonly timestamp: string
  readonly config_hash: string
}

/** A journal open for appending. */
export interface Journal {
  readonly head: JournalHead
  /** What earlier sittings of the run finished. */
  readonly finished: readonly Simulation[]
  append(simulation: Simulation): Promise<void>
  close(): Promise<void>
}

/** Begins a journal. The file must not exist. */
export async function createJournal(path: string, head: JournalHead): Promise<Journal> {
  const file = await open(path, 'ax').catch((cause) => {
    if (cause.code !== 'EEXIST') throw cause
    throw new ValidationError('There are results here already: resume them or save elsewhere')
  })
  await file.appendFile(`${JSON.stringify({ kind: 'run', ...head })}\n`)
  return appendTo(file, head, [])
}

/**
 * Goes on with a journal.
 *
 * @throws ValidationError where it belongs to a run with another configuration.
 */
export async function reopenJournal(path: string, config_hash: string): Promise<Journal> {
  const text = await readFile(path, 'utf8').catch((cause) => {
    throw new ValidationError('There is no run to resume here', { cause })
  })
  const { head, finished } = readJournal(text)
  if (head.config_hash !== config_hash)
    throw new ValidationError('The results to resume were made with another configuration')
  const lines = [
    { kind: 'run', ...head },
    ...finished.map((simulation) => ({ kind: 'simulation', simulation })),
  ]
  await writeWhole(path, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`)
  return appendTo(await open(path, 'a'), head, finished)
}

/** The run's requests as JSON Lines, written as they happen. */
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
      await streamFinished(stream)
    },
  }
}

/** Writes a file so that readers see the old one or the new one, never half of it. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`
  await writeFile(temporary, text, { flush: true })
  await rename(temporary, path)
}

function appendTo(file: FileHandle, head: JournalHead, finished: readonly Simulation[]): Journal {
  let last: Promise<void> = Promise.resolve()
  return {
    head,
    finished,
    append(simulation) {
      const line = `${JSON.stringify({ kind: 'simulation', simulation })}\n`
      last = last.then(async () => {
        await file.appendFile(line)
        await file.datasync()
      })
      return last
    },
    async close() {
      await last.catch(() => {}) // whoever appended has heard of it
      await file.close()
    },
  }
}

function readJournal(text: string): { head: JournalHead; finished: readonly Simulation[] } {
  const [first, ...rest] = text.split('\n').map(tryParse)
  if (!isJsonObject(first) || first.kind !== 'run')
    throw new ValidationError('The journal to resume has no beginning')
  const finished: readonly unknown[] = rest.flatMap((line) =>
    isJsonObject(line) && isJsonObject(line.simulation) ? [line.simulation] : [],
  )
  const { id, timestamp, config_hash } = first
  const head = { id: String(id), timestamp: String(timestamp), config_hash: String(config_hash) }
  // Only we write these lines, and a line that parses is a whole one.
  return { head, finished: finished as readonly Simulation[] }
}
