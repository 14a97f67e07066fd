import type {
  Direction,
  Disturbance,
  MessageTap,
  PassingMessage,
} from '../../../test/support/cutting-proxy.ts'

/** One message of a scenario and what is done to its connection when it comes. */
export interface CutPoint {
  /** The message: its replica, its statement and how many of those came before, its direction, type and place. */
  readonly message: string
  readonly kind: Disturbance
}

/** Counts the messages of a scenario, and disturbs one of them. */
export interface Meter {
  /** What stands in the proxy of a replica. */
  tapOf(replica: string): MessageTap
  /** Counts from now on: what came before is no part of the scenario. */
  begin(): void
  /** The points of the messages so far. */
  readonly points: readonly CutPoint[]
  /** Whether the wanted message came. */
  readonly isReached: boolean
}

/** Statements that only read, or look whether there is something to do, come again and again: the first few stand for all. */
const isRepeated = (name: string): boolean =>
  /^(?:beat|look_live|orphaned|poll|held|configs|records|get_\w+|values|by_key|connect|notice|DELETE|SELECT|WITH live)\b/.test(
    name,
  )
const maxRepeated = 3

/**
 * What is done at a message. A connection that breaks behind one message is one that breaks before the next, and what is late
 * is late with all that was sent with it: these kinds are tried where what was sent together ends.
 */
function kindsAt(direction: Direction, type: string): readonly Disturbance[] {
  if (direction === 'answers') return type === 'Z' ? [...always, 'pass', 'delay'] : always
  return type === 'S' || type === 'Q' ? [...always, 'pass', 'delay', 'unanswered', 'late'] : always
}

const always: readonly Disturbance[] = ['lose', 'blackhole', 'halfClose']

/**
 * Makes a meter.
 * @param hit Called when the wanted message comes, before anything is done to it.
 */
export function createMeter(wanted?: CutPoint, hit: () => void = () => {}): Meter {
  let isCounting = false
  let isReached = false
  const counts = new Map<string, number>()
  /** The number of each exchange among those of the same replica and statement, and of each message within it. */
  const places = new Map<string, number>()
  const points: CutPoint[] = []

  function count(key: string): number {
    const next = (counts.get(key) ?? 0) + 1
    counts.set(key, next)
    return next
  }

  function placeOf(replica: string, { exchange, link }: PassingMessage): number {
    const key = `${replica} ${link} ${exchange.number}`
    const place = places.get(key) ?? count(`${replica} ${exchange.name}`)
    places.set(key, place)
    return place
  }

  return {
    points,
    get isReached() {
      return isReached
    },
    begin() {
      isCounting = true
    },
    tapOf: (replica) => (message) => {
      if (!isCounting) return undefined
      const { direction, type, exchange } = message
      const place = placeOf(replica, message)
      if (isRepeated(exchange.name) && place > maxRepeated) return undefined
      const words = `${replica} ${exchange.name} ${place}, ${direction} ${type || 'start'}`
      const name = `${words}${count(words)}`
      for (const kind of kindsAt(direction, type)) points.push({ message: name, kind })
      if (isReached || wanted?.message !== name) return undefined
      isReached = true
      hit()
      return wanted.kind
    },
  }
}
