import type { JsonObject } from '../protocol/types.ts'
import type { LogRecord } from '../store/store.ts'

/**
 * An entry of the trace as callers see it: what was recorded, when (`time`), and by which way through nested teams it was
 * reached (`path`). The path also stands where members write it, under `at`.
 */
export function toShownEntry({
  at,
  entry,
}: Extract<LogRecord, { readonly kind: 'trace' }>): JsonObject {
  return { ...entry, time: at, ...(typeof entry.at === 'string' && { path: entry.at }) }
}
