import { A2AError } from '../protocol/errors.ts'
import { myTurn } from '../shared/async.ts'

/** Does some work for a principal; empty where nobody knows whose it is. */
type DoFor = <T>(principal: string, work: () => T | Promise<T>) => Promise<T>

/** Requests of one principal that are being answered, or wait to be, at once. */
const maxAtOnce = 16

/** Makes what lets one caller ask for so much at once and no more: some answers take a while. */
export function createShares(): DoFor {
  const running = new Map<string, number>()
  return async (principal, work) => {
    const now = running.get(principal) ?? 0
    if (principal !== '' && now >= maxAtOnce)
      throw new A2AError('rateLimited', 'You ask for too much at once', { retryAfterSeconds: 1 })
    running.set(principal, now + 1)
    try {
      return await work()
    } finally {
      const left = (running.get(principal) ?? 1) - 1
      if (left > 0) running.set(principal, left)
      else running.delete(principal)
    }
  }
}

/** Makes what does the works of one caller one after the other, with a turn for everybody else in between. */
export function createQueues(): DoFor {
  const lines = new Map<string, Promise<void>>()
  return (principal, work) => {
    const mine = (lines.get(principal) ?? Promise.resolve()).then(myTurn).then(work)
    const end = (): void => {
      if (lines.get(principal) === last) lines.delete(principal)
    }
    const last = mine.then(end, end)
    lines.set(principal, last)
    return mine
  }
}
