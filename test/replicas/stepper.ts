import type { Agent } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { createDeferred, type Deferred, withSignal } from '../../src/shared/async.ts'

/** A resumable agent of durable steps, each of which waits to be let go on. */
export interface Stepper extends Agent {
  /** Which steps have begun, as `task/turn/step`, in order. */
  readonly begun: readonly string[]
  /** Lets this many further steps end, of whichever task. */
  pass(count: number): void
}

/** Makes an agent that answers with the numbers of so many steps, each an artifact's chunk. */
export function createStepper(steps: number, resumable = true): Stepper {
  const begun: string[] = []
  const waiting: Deferred<void>[] = []
  let passes = 0

  async function gate(signal: AbortSignal): Promise<void> {
    if (passes > 0) {
      passes--
      return
    }
    const place = createDeferred<void>()
    waiting.push(place)
    try {
      await withSignal(place.promise, signal)
    } finally {
      // One that was interrupted leaves its place to those who wait.
      const index = waiting.indexOf(place)
      if (index >= 0) waiting.splice(index, 1)
    }
  }

  const agent = defineAgent({ name: 'Stepper', resumable }, async function* (_message, turn) {
    for (let i = 1; i <= steps; i++) {
      const name = `step-${i}`
      const result = await turn.step(name, async () => {
        begun.push(turn.stepKey(name))
        await gate(turn.signal)
        return i
      })
      yield `${result} `
    }
  })
  return {
    ...agent,
    begun,
    pass(count) {
      for (let i = 0; i < count; i++) {
        const first = waiting.shift()
        if (first) first.resolve()
        else passes++
      }
    },
  }
}
