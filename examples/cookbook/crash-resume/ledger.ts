import { appendFileSync } from 'node:fs'

/** Writes a line into the ledger: what cannot be undone, and so must not be done twice. */
export function enter(line: string): string {
  appendFileSync(process.env.LEDGER ?? 'ledger.txt', `${line}\n`)
  return line
}
