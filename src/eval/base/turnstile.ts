/** Waits until it is somebody's turn. */
export type Turnstile = () => Promise<void>

/**
 * Lets work go on one piece after another, each in a round of the event loop of its own. Between two rounds the loop
 * looks at its sockets, so an answer that has arrived is noticed at once, however much work waits: what is measured is
 * the time of the agent and not that of the queue before us.
 */
export function createTurnstile(): Turnstile {
  const waiting: (() => void)[] = []
  let running = false
  const admit = (): void => {
    waiting.shift()?.()
    running = waiting.length > 0
    if (running) setImmediate(admit)
  }
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (running) return
      running = true
      setImmediate(admit)
    })
}
