import { computed, signal } from '@preact/signals'
import type { ConsoleRoster } from '../../src/console/api.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { watchChanges } from './live.ts'
import { parseRoute, type Route, toAddress } from './route.ts'
import { read, sentenceOf } from './server.ts'

/** Where the reader is. */
export const route = signal<Route>(parseRoute(location.hash))

/** What is served here and who needs what; undefined until it has been read. */
export const roster = signal<ConsoleRoster | undefined>(undefined)

/** Why the roster could not be read; empty where it could. */
export const rosterFault = signal('')

/** The time by which "4 min ago" is told, moved on every second. */
export const now = signal(systemClock.now())

/** Agents and teams by their id, for names. */
export const agentsById = computed(
  () => new Map(roster.value?.agents.map((agent) => [agent.id, agent])),
)

/** Goes to another view; `replace` leaves no step in the browser's history. */
export function go(next: Route, replace = false): void {
  const address = toAddress(next)
  if (replace) history.replaceState(null, '', address)
  else if (location.hash !== address) history.pushState(null, '', address)
  route.value = next
}

/** Reads the roster again, once however many ask while it is read. */
export const readRoster: () => Promise<void> = once(async () => {
  try {
    roster.value = await read<ConsoleRoster>('roster')
    rosterFault.value = ''
  } catch (thrown) {
    rosterFault.value = sentenceOf(thrown)
  }
})

/** Keeps route, time and roster up to date until the page is closed. */
export function keepUpToDate(): void {
  const follow = (): void => {
    route.value = parseRoute(location.hash)
  }
  addEventListener('hashchange', follow)
  addEventListener('popstate', follow)
  const tick = (): void => {
    now.value = systemClock.now()
    systemClock.after(1_000, tick)
  }
  tick()
  watchChanges(readRosterSoon, readRosterSoon)
  void readRoster()
}

let isDue = false

/** A burst of changes is one reading. */
function readRosterSoon(): void {
  if (isDue) return
  isDue = true
  systemClock.after(400, () => {
    isDue = false
    void readRoster()
  })
}

/** Work that is not done twice at once; who asks meanwhile has it done once more afterwards. */
function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let again = false
  const run = async (): Promise<void> => {
    do {
      again = false
      await work()
    } while (again)
    running = undefined
  }
  return () => {
    if (running) again = true
    else running = run()
    return running ?? Promise.resolve()
  }
}
