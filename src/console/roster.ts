import type { TaskState } from '../protocol/types.ts'
import type { ConsoleHost, ShownAgent } from '../server/options.ts'
import type { StoredTask } from '../store/store.ts'
import { kindOf } from '../team/schedulers/kinds.ts'
import type { ConsoleRoster, RosterAgent, TaskTotals } from './api.ts'
import { type ApiCall, inSlices, scopesShown, type Viewer } from './call.ts'
import { medianOf } from './edges.ts'
import { costIn, type TaskReader } from './facts.ts'
import { kindOfAgent, teamOf } from './graph.ts'
import { createInbox, createTaskPages } from './tasks.ts'

/** What is shown of a server besides its agents. */
interface ServerWords {
  readonly version: string
  /** The kind of store. */
  readonly store: string
  /** When the server was made. */
  readonly startedAt: string
}

/** The last so many tasks of an agent are looked at for its median, its tokens and its sparkline. */
const maxLooked = 100

/** Makes the handler of `roster`. */
export function createRosterHandler(
  host: ConsoleHost,
  reader: TaskReader,
  { startedAt, ...words }: ServerWords,
): (call: ApiCall) => Promise<ConsoleRoster> {
  const { clock, mounts, auth } = host
  const healthOf = createHealthReader(host)
  const readPage = createTaskPages(host, reader)
  const needsYou = createInbox(host, reader)

  async function toAgent(mount: ShownAgent, viewer: Viewer, base?: string): Promise<RosterAgent> {
    const { id, identity } = mount
    const { tasks } = await readPage(viewer, { agent: id, limit: maxLooked })
    const facts = await inSlices(tasks, reader.facts)
    const { name, description, details } = identity.known()
    const p50Ms = medianOf(facts.flatMap(({ durationMs }, i) => ended(tasks[i], durationMs)))
    const count = async (state: TaskState): Promise<number> =>
      (await readPage(viewer, { agent: id, state, limit: 1 })).total ?? 0
    const examples = (details?.skills ?? []).flatMap((skill) => skill.examples ?? [])
    return {
      id,
      name,
      description,
      ...sortOf(mount),
      url: identity.base(base),
      ...(await healthOf(id)),
      ...(await totalsOf(count)),
      tokens: facts.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
      ...costIn(facts),
      ...(p50Ms !== undefined && { p50Ms }),
      recent: sparkline(tasks, clock.now()),
      ...(examples.length > 0 && { examples: examples.slice(0, 6) }),
    }
  }

  async function read({ viewer, request }: ApiCall): Promise<ConsoleRoster> {
    const served = [...mounts.values()].filter(({ id }) => viewer.reaches(id))
    const agents = await Promise.all(served.map((mount) => toAgent(mount, viewer, request.base)))
    return {
      server: { ...words, url: request.base ?? host.url(), startedAt },
      me: {
        name: viewer.auth.userId,
        scopes: scopesShown(viewer.auth),
        operator: viewer.isOperator,
        login: !auth.open,
      },
      totals: sumOf(agents),
      agents,
      needsYou: await needsYou(viewer),
    }
  }

  const turns = createTurns<ConsoleRoster>()
  return (call) => turns(keyOf(call), () => read(call))
}

type ShownHealth = Pick<RosterAgent, 'health' | 'reason'>

/** As long as Home waits for an agent that does not say how it is. */
const patienceMs = 500

/** Asks agents how they are; of one that takes its time, what it said last is shown. */
function createHealthReader({ health, clock }: ConsoleHost): (id: string) => Promise<ShownHealth> {
  const last = new Map<string, ShownHealth>()
  return (id) =>
    new Promise((resolve) => {
      const callOff = clock.after(patienceMs, () => resolve(last.get(id) ?? { health: 'unknown' }))
      health(id).then(
        ({ healthy, reason }) => {
          const shown: ShownHealth = {
            health: healthy ? 'healthy' : 'sick',
            ...(reason !== undefined && { reason }),
          }
          last.set(id, shown)
          callOff()
          resolve(shown)
        },
        () => resolve({ health: 'unknown' }),
      )
    })
}

function ended(stored: StoredTask | undefined, durationMs: number | undefined): number[] {
  const isOver = stored?.head.state === 'TASK_STATE_COMPLETED'
  return isOver && durationMs !== undefined ? [durationMs] : []
}

function sortOf(mount: ShownAgent): Pick<RosterAgent, 'kind' | 'members' | 'scheduler'> {
  const agent = mount.agent()
  const team = teamOf(agent)
  if (!team) return { kind: kindOfAgent(agent), members: [] }
  const { agents, scheduler } = team.config
  const members = agents.map(({ agentId }) => agentId)
  return { kind: 'team', members, scheduler: kindOf(scheduler).mode(scheduler) }
}

type StateTotals = Omit<TaskTotals, 'tokens' | 'costUsd'>

/** How many tasks are in which state. */
async function totalsOf(count: (state: TaskState) => Promise<number>): Promise<StateTotals> {
  const [submitted, working, input, login, completed, failed, rejected] = await Promise.all([
    count('TASK_STATE_SUBMITTED'),
    count('TASK_STATE_WORKING'),
    count('TASK_STATE_INPUT_REQUIRED'),
    count('TASK_STATE_AUTH_REQUIRED'),
    count('TASK_STATE_COMPLETED'),
    count('TASK_STATE_FAILED'),
    count('TASK_STATE_REJECTED'),
  ])
  return {
    running: submitted + working,
    waiting: input + login,
    completed,
    failed: failed + rejected,
  }
}

const slices = 30
const hourMs = 3_600_000

/** Tasks that ended per slice of the last hour, the oldest slice first. */
function sparkline(tasks: readonly StoredTask[], now: number): readonly number[] {
  const counts = Array.from({ length: slices }, () => 0)
  for (const { head } of tasks) {
    const age = now - Date.parse(head.timestamp)
    const slice = slices - 1 - Math.floor((age / hourMs) * slices)
    if (!head.busy && slice >= 0 && slice < slices) counts[slice] = (counts[slice] ?? 0) + 1
  }
  return counts
}

function sumOf(agents: readonly RosterAgent[]): TaskTotals {
  const sum = (key: keyof StateTotals | 'tokens'): number =>
    agents.reduce((all, one) => all + one[key], 0)
  return {
    running: sum('running'),
    waiting: sum('waiting'),
    completed: sum('completed'),
    failed: sum('failed'),
    tokens: sum('tokens'),
    ...costIn(agents),
  }
}

type RosterTurn<T> = { readonly now: Promise<T>; next?: Promise<T> }

/**
 * Lets one work of a key run at a time. All callers that ask meanwhile share the next one: it begins after they asked, so
 * it is never too old.
 */
function createTurns<T>(): (key: string, work: () => Promise<T>) => Promise<T> {
  const running = new Map<string, RosterTurn<T>>()
  function run(key: string, work: () => Promise<T>): Promise<T> {
    const turn: RosterTurn<T> = { now: work() }
    running.set(key, turn)
    const end = (): void => {
      if (running.get(key) === turn && !turn.next) running.delete(key)
    }
    turn.now.then(end, end)
    return turn.now
  }
  return (key, work) => {
    const turn = running.get(key)
    if (!turn) return run(key, work)
    const go = (): Promise<T> => run(key, work)
    turn.next ??= turn.now.then(go, go)
    return turn.next
  }
}

function keyOf({ viewer: { auth }, request: { base = '' } }: ApiCall): string {
  return JSON.stringify([auth.userId, auth.scopes, auth.tenants, base])
}
