import type { Json, Part } from '../protocol/types.ts'

/** A short name of what is asked, the same in every process. */
export async function digestOf(value: Json | readonly Part[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return Array.from(hash.subarray(0, 12), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
