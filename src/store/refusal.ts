import type { Write } from './store.ts'
import { weigh } from './weigh.ts'
import { weighRecord } from './weigh-record.ts'

/** The largest write of one task that a store takes by default, in bytes. */
export const defaultMaxTaskBytes: number = 32 * 1024 * 1024

/** Why a write can never be stored. What was thrown may hold a user's data, so it is not repeated. */
export function refusalOf(
  write: Write,
  reason: { readonly thrown: unknown } | { readonly maxBytes: number },
): string {
  const what = nameOf(write)
  if ('maxBytes' in reason) return `${what} is larger than ${reason.maxBytes} bytes`
  return `${what} holds ${culpritOf(reason.thrown)}, which cannot be stored as JSON`
}

/**
 * A store that writes nothing out could keep anything; but what it keeps is sent over wires, and another store takes its
 * place, so it refuses what those cannot. The records are looked at: what is new of a task is in them.
 */
export function refusalFor(write: Write, maxBytes: number): string | undefined {
  if (write.type !== 'task' && write.type !== 'contextValue') return undefined
  try {
    const weight =
      write.type === 'task'
        ? write.records.reduce((sum, record) => sum + weighRecord(record), 0)
        : weigh(write.value)
    return weight > maxBytes ? refusalOf(write, { maxBytes }) : undefined
  } catch (thrown) {
    return refusalOf(write, { thrown })
  }
}

function nameOf(write: Write): string {
  if (write.type === 'task') return `Task ${write.head.id}`
  if (write.type === 'contextValue') return `The value ${JSON.stringify(write.key)} of the context`
  return 'What is written'
}

function culpritOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : ''
  if (/BigInt/i.test(message)) return 'a BigInt'
  if (/circular|cycl/i.test(message)) return 'a reference to itself'
  return 'a value'
}
