import { isTerminal, textOf } from '../../src/protocol/task.ts'
import type { Task } from '../../src/protocol/types.ts'
import type { Store, StoredTask } from '../../src/store/store.ts'
import { isMisdirected } from './dialogues.ts'
import { readEffects } from './effects.ts'

/** The teams with a remote member, and what the member is called there. */
const remoteMembers: Readonly<Record<string, string>> = { distant: 'guide', outing: 'errand' }

/** The remote server's side of the story. */
export interface RemoteEvidence {
  readonly store: Store
  /** The file in which its agents wrote each time they ran. */
  readonly effects: string
}

/**
 * Holds the tasks of the remote server against those of the teams: each team's task has at most one there, which ended
 * as it did, and goes on no longer than it. Gives how many there are, and what is wrong.
 */
export async function auditRemote(
  teams: readonly StoredTask[],
  { store, effects }: RemoteEvidence,
): Promise<{ readonly tasks: number; readonly faults: readonly string[] }> {
  const faults: string[] = []
  const owners = new Map(teams.map((stored) => [nameOf(stored.task), stored]))
  const seen = new Set<string>()
  for (const agent of new Set(Object.values(remoteMembers)))
    for await (const remote of allTasks(store, agent)) {
      const name = nameOf(remote.task)
      const say = (fault: string): void => void faults.push(`Remote task of ${name}: ${fault}`)
      if (seen.has(name)) say('the member has a second one')
      seen.add(name)
      const owner = owners.get(name)
      if (owner) for (const fault of compare(owner, remote)) say(fault)
      else say('nobody knows of it')
    }
  for (const { member, input } of readEffects(effects))
    if (isMisdirected(member, input))
      faults.push(`The remote ${member} was asked ${JSON.stringify(input)}`)
  return { tasks: seen.size, faults }
}

function* compare({ head: owner }: StoredTask, { head: remote }: StoredTask): Iterable<string> {
  if (remoteMembers[owner.scope.agent] !== remote.scope.agent)
    yield `${owner.scope.agent} has no member ${remote.scope.agent}`
  if (remote.busy) yield `it is ${remote.state}, and there is work left`
  if (isTerminal(owner.state) && !isTerminal(remote.state))
    yield `it is ${remote.state}, but its team's task is ${owner.state}`
  if (owner.state === 'TASK_STATE_COMPLETED' && remote.state !== 'TASK_STATE_COMPLETED')
    yield `it is ${remote.state}, but its team's task is ${owner.state}`
  if (remote.state === 'TASK_STATE_FAILED') yield 'it failed'
}

/** All tasks of an agent. */
export async function* allTasks(store: Store, agent: string): AsyncGenerator<StoredTask> {
  const filter = { scope: { agent, tenant: '', owner: '' }, limit: 500 }
  let page = await store.list(filter)
  for (;;) {
    yield* page.tasks
    if (!page.next) return
    page = await store.list({ ...filter, cursor: page.next })
  }
}

/** The operation that a task came from: the text of its first message, up to the full stop. */
export function nameOf({ history }: Task): string {
  return textOf(history?.[0]?.parts ?? []).split('.')[0] ?? ''
}
