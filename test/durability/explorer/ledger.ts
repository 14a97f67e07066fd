import type { Write } from '../../../src/store/store.ts'

/** Who takes note of what members, models, tools and rules are asked. */
export interface Notes {
  /**
   * `result` is what the call gives, in words that no other gives, or the name of its durable step and ` = `: once the
   * log has that, the call may not be made again.
   */
  note(member: string, input: string, result?: string): void
}

/** What happened, outside of every process. */
export interface Ledger extends Notes {
  /** What each member was asked, in order. */
  readonly asked: Map<string, string[]>
  /** Calls that were made although the log had their results. */
  readonly again: readonly string[]
  /** Takes note of what is stored. */
  store(writes: readonly Write[]): void
}

/** A ledger in which nothing stands. */
export function createLedger(): Ledger {
  const asked = new Map<string, string[]>()
  const again: string[] = []
  let stored = ''
  return {
    asked,
    again,
    note(member, input, result) {
      const list = asked.get(member) ?? []
      list.push(input)
      asked.set(member, list)
      if (result !== undefined && stored.includes(result))
        again.push(`${member} was asked ${JSON.stringify(input)} although it had given its answer`)
    },
    store(writes) {
      for (const write of writes)
        if ('records' in write)
          for (const record of write.records)
            if (record.kind === 'step')
              stored += `${record.name} = ${JSON.stringify(record.result)}\n`
            else if (record.kind === 'state') stored += `${JSON.stringify(record.value)}\n`
    },
  }
}
