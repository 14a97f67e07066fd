import type { Turn } from '../../agents/index.ts'
import type { Clock } from '../../shared/clock.ts'

/** Waits, as people do who think; a cancelled turn ends the wait. */
export function pause(clock: Clock, ms: number, { signal }: Pick<Turn, 'signal'>): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      callOff()
      reject(signal.reason)
    }
    const callOff = clock.after(ms, () => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
