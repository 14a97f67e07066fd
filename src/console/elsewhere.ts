import type { ConsoleHost } from '../server/console.ts'

/** How often the newest tasks are looked at, and how many of them. */
const lookMs = 2_000
const most = 50

/**
 * Tells of tasks that other replicas have changed, while somebody listens: the newest are looked at from time to time.
 * Where one process has the store to itself there is nothing to look for.
 */
export function watchElsewhere(
  { store, clock, logger }: Pick<ConsoleHost, 'store' | 'clock' | 'logger'>,
  changed: (taskId: string) => void,
): () => void {
  let known: ReadonlyMap<string, string> | undefined
  let isOver = false
  let callOff = (): void => {}

  async function look(): Promise<void> {
    const { tasks } = await store.listAll({ limit: most, light: true })
    const seen = new Map(tasks.map(({ head }) => [head.id, `${head.timestamp} ${head.state}`]))
    if (known) for (const [id, mark] of seen) if (known.get(id) !== mark) changed(id)
    known = seen
  }

  function lookLater(): void {
    if (isOver) return
    callOff = clock.after(lookMs, () => {
      look()
        .catch((err: unknown) => logger.debug({ err }, 'The console cannot look for changes'))
        .finally(lookLater)
    })
  }

  if (store.feed) lookLater()
  return () => {
    isOver = true
    callOff()
  }
}
