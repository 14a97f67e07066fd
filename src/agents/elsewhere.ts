import type { Turn } from './agent.ts'

/** Waits for work that another program does; others have the turn's slot meanwhile. */
export async function elsewhere<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
  const back = turn.away()
  try {
    return await work()
  } finally {
    await back()
  }
}
