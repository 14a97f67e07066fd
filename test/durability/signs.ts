import { createDeferred } from '../../src/shared/async.ts'

/** Signs of life: whoever waits for a number of them is woken by the last. */
export interface Signs {
  sign(): void
  after(count: number): Promise<void>
}

/** Makes a count of them. */
export function createSigns(): Signs {
  let left = 0
  let reached = createDeferred<void>()
  return {
    sign() {
      if (--left === 0) reached.resolve()
    },
    after(count) {
      left = count
      reached = createDeferred()
      return reached.promise
    },
  }
}
