import type { JsonObject } from '../protocol/types.ts'
import type { LogRecord } from '../store/store.ts'

/**
 * An entry of the trace as callers see it: what was recorded, when (`time`), and by which way through nested teams it was
 * reached (`path`). The path also stands where members write it, under `at`; behind it a guard writes its side there.
 */
export function toShownEntry({
  at,
  entry,
}: Extract<LogRecord, { readonly kind: 'trace' }>): JsonObject {
  const path = pathOf(entry)
  return { ...entry, time: at, ...(path !== undefined && { path }) }
}

function pathOf({ at, side }: JsonObject): string | undefined {
  if (typeof at !== 'string') return undefined
  if (typeof side !== 'string' || side === '') return at
  if (at === side) return undefined
  return at.endsWith(`/${side}`) ? at.slice(0, -side.length - 1) : at
}
