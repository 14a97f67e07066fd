import { setTimeout } from 'node:timers/promises'
import type { Message } from 'corral'
import type { Turn } from 'corral/agents'
import { enter } from '../ledger.ts'

/** Prints a label, then packs, which takes its time. A step that is done is not done again after a crash. */
export default async function pack(_message: Message, turn: Turn): Promise<string> {
  await turn.step('label', () => enter('labelled'))
  turn.trace({ type: 'packing' })
  await setTimeout(Number(process.env.PACKING_MS ?? 0), undefined, { signal: turn.signal })
  return turn.step('pack', () => enter('packed'))
}
