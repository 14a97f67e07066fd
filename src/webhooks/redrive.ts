import { A2AError } from '../protocol/errors.ts'
import type { Store } from '../store/store.ts'
import type { Outcome } from './deliver.ts'
import { attempt, hostOf, type LaneContext, type LaneSignals } from './lane.ts'
import { findConfig, type Pending } from './pending.ts'

/** Attempts a given-up delivery once more; what is delivered leaves the list of dead letters. */
export async function redriveLetter(
  context: LaneContext,
  id: string,
  { stop, kill }: LaneSignals,
): Promise<Outcome> {
  const pending = await findLetter(context.store, id)
  const free = await context.slots.take(hostOf(pending.record), stop)
  try {
    const outcome = await attempt(context, pending, kill)
    if (outcome.kind === 'delivered') await context.store.commit([{ type: 'deleteDeadLetter', id }])
    return outcome
  } finally {
    free()
  }
}

async function findLetter(store: Store, id: string): Promise<Pending> {
  const letter = (await store.deadLetters()).find((item) => item.id === id)
  if (!letter) throw new A2AError('invalidParams', `No dead letter ${id}`)
  const { taskId, configId, seq } = letter
  const record = await findConfig(store, { taskId, id: configId })
  const stored = await store.get(taskId)
  if (!record || !stored) throw new A2AError('invalidParams', `The webhook of ${id} is gone`)
  const [entry] = await store.records(taskId, seq - 1, 1)
  if (entry?.kind !== 'event' || entry.seq !== seq)
    throw new A2AError('invalidParams', `The event of ${id} is no longer kept`)
  return { record, entry, since: seq, stored }
}
