import type { JsonObject } from '../protocol/types.ts'
import { addUsage, type Usage } from '../protocol/usage.ts'
import type { LogRecord } from '../store/store.ts'

/**
 * What a task has used by its trace, for one whose agent has not told the sum yet: one that waits for a person, or was
 * cancelled. A reply tells what its whole call used; of a call that has told nothing, what its model's rounds and the
 * calls within it did.
 */
export function spentIn(records: readonly LogRecord[]): Usage | undefined {
  const calls = new Map<string, Usage>()
  const rounds: { readonly path: string; readonly usage: Usage }[] = []
  for (const record of records) {
    if (record.kind !== 'trace') continue
    const { entry } = record
    const usage = amountsOf(entry)
    const path = textOf(entry.at)
    if (!usage) continue
    // A call that goes on after a question tells again what it had used before.
    if (entry.type === 'reply') calls.set(below(path, textOf(entry.call)), usage)
    if (entry.type === 'model') rounds.push({ path, usage })
  }
  const told = [...calls].filter(([path]) => !isWithin(parentOf(path), calls))
  const untold = rounds.filter(({ path }) => !isWithin(path, calls))
  return [...told.map(([, usage]) => usage), ...untold.map(({ usage }) => usage)].reduce<
    Usage | undefined
  >(addUsage, undefined)
}

/** Whether a path, or one that it goes through, is that of a call that has told. */
function isWithin(path: string, calls: ReadonlyMap<string, Usage>): boolean {
  for (let here = path; here !== ''; here = parentOf(here)) if (calls.has(here)) return true
  return false
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('/'), 0))
}

function below(path: string, call: string): string {
  return path === '' ? call : `${path}/${call}`
}

function amountsOf({ inputTokens, outputTokens, costUsd }: JsonObject): Usage | undefined {
  if (typeof inputTokens !== 'number' || typeof outputTokens !== 'number') return undefined
  return { inputTokens, outputTokens, ...(typeof costUsd === 'number' && { costUsd }) }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
