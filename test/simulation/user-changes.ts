import { A2AError } from '../../src/protocol/errors.ts'
import { isTerminal } from '../../src/protocol/task.ts'
import type { PushConfigRecord, Scope } from '../../src/store/store.ts'
import type { Random } from '../durability/random.ts'
import { hookUrl } from './hooks.ts'
import type { Changed, Hooking, Ledger } from './ledger.ts'
import { agentId, type Replica } from './replica.ts'

/** What users do to tasks besides talking: they add to them, and have others told of them. */
export interface UserChanges {
  /** Adds an artifact to a task, wherever it runs. */
  change(taskId: string): Promise<void>
  /** Stores a webhook of a task, or deletes one. */
  hook(taskId: string): Promise<void>
}

/** What that takes. */
interface UserChangesOptions {
  readonly random: Random
  readonly ledger: Ledger
  readonly scope: Scope
  /** A replica that takes requests; waits for one. */
  anyReplica(): Promise<Replica>
  /** Lets a replica do something; `cut` where it dies before its answer has left. */
  ask<T>(replica: Replica, work: () => Promise<T>): Promise<T | 'cut' | A2AError>
  /** A number that was not used before. */
  next(): number
}

/** Makes what users do so. */
export function createChanges(options: UserChangesOptions): UserChanges {
  const { random, ledger, scope, anyReplica, ask, next } = options
  return {
    async change(taskId) {
      const replica = await anyReplica()
      const artifactId = `note ${next()}`
      const entry: Changed = { taskId, artifactId, acknowledged: false, outcome: 'open' }
      ledger.changes.push(entry)
      const told = await ask(replica, () => add(replica, scope, { taskId, artifactId }))
      entry.outcome = isUnanswered(told) ? told : 'answered'
      if (isUnanswered(told)) return
      entry.acknowledged = told.artifacts?.some((one) => one.artifactId === artifactId) ?? false
      entry.ignored = !entry.acknowledged && !isTerminal(told.status.state)
    },
    async hook(taskId) {
      const known = ledger.hookings.filter(isThere)
      const old = random.chance(0.25) && known.length > 0 ? random.pick(known) : undefined
      const id = old?.id ?? `hook ${next()}`
      const kind = old ? 'remove' : 'add'
      const entry: Hooking = { id, taskId: old?.taskId ?? taskId, kind, outcome: 'open' }
      ledger.hookings.push(entry)
      const replica = await anyReplica()
      const { configs } = replica.push
      const told = await ask(replica, () =>
        old ? configs.remove(old.taskId, id) : configs.add(toHook(taskId, id)),
      )
      entry.outcome = isUnanswered(told) ? told : 'answered'
    },
  }
}

async function add(
  { engine }: Replica,
  scope: Scope,
  { taskId, artifactId }: Pick<Changed, 'taskId' | 'artifactId'>,
) {
  const stored = engine.tasksOf(scope)
  const before = await stored.get(taskId)
  if (!before) throw new A2AError('internal', `Task ${taskId} is not found`)
  const artifact = { artifactId, parts: [{ text: artifactId }] }
  return stored.update({ ...before, artifacts: [...(before.artifacts ?? []), artifact] })
}

function isThere({ kind, outcome }: Hooking): boolean {
  return kind === 'add' && outcome === 'answered'
}

function isUnanswered(told: unknown): told is 'cut' | A2AError {
  return told === 'cut' || told instanceof A2AError
}

function toHook(taskId: string, id: string): Omit<PushConfigRecord, 'cursor'> {
  return { taskId, id, config: { url: hookUrl(id) }, dialect: '1.0', agent: agentId }
}
