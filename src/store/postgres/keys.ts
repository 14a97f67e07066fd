import { createHash } from 'node:crypto'
import { scopeKey } from '../scope.ts'
import type { Scope } from '../store.ts'

/** Longer keys would not fit into an index together with the others of its row. */
const maxBytes = 400

/** A scope as the indexes have it. */
export function scopeColumn(scope: Scope): string {
  return shorten(scopeKey(scope))
}

/** An idempotency key as the index has it. */
export function keyColumn(key: string): string {
  return shorten(`=${key}`)
}

/** A text that is short stays; one that is long becomes its digest, which begins as no short one does. */
function shorten(text: string): string {
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text
  return `sha256:${createHash('sha256').update(text).digest('base64')}`
}
