import { closeSync, openSync, writeSync } from 'node:fs'

/** Writes nonsense over pages of a database file, counted from 1. */
export function damage(file: string, ...pages: readonly number[]): void {
  const open = openSync(file, 'r+')
  for (const page of pages) writeSync(open, Buffer.alloc(2048, 0x5a), 0, 2048, (page - 1) * 4096)
  closeSync(open)
}
