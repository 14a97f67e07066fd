import { enter } from '../ledger.ts'

/** Sends it off. */
export default function ship(): string {
  return enter('shipped')
}
