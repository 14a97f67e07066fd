import { enter } from '../ledger.ts'

/** Takes the money. */
export default function charge(): string {
  return enter('charged')
}
