import { ValidationError } from '../base.ts'
import type { Domain, EvalTask } from '../domain/domain.ts'
import { parseTasks } from '../domain/replay.ts'
import { airlineKind } from './airline/domain.ts'
import { toJson } from './bridge.ts'
import { type DataFiles, type DataOptions, openData } from './data.ts'
import { openWorld, type Tau2Environment } from './environment.ts'
import type { DomainKind } from './kind.ts'
import { mockKind } from './mock/domain.ts'
import { tau2Prompts } from './prompts.ts'
import { isDict, isList, type Value } from './python/value.ts'
import { retailKind } from './retail/domain.ts'
import { createBase } from './state/base.ts'
import { telecomKind, telecomWorkflowKind } from './telecom/domain.ts'

/** A domain of tau2: its own tasks, policy and data, in worlds that answer as its Python does. */
interface Tau2Domain extends Domain {
  readonly manifest: NonNullable<Domain['manifest']>
  open(task: EvalTask): Promise<Tau2Environment>
}

const prefix = 'tau2:'
const kinds: readonly DomainKind[] = [
  mockKind,
  retailKind,
  airlineKind,
  telecomKind,
  telecomWorkflowKind,
]

/** The names by which tau2's domains are asked for. */
const tau2Domains: readonly string[] = kinds.map(({ name }) => `${prefix}${name}`)

/**
 * Loads a domain of tau2 by its name, such as `tau2:retail`.
 *
 * @throws ValidationError where there is no such domain, or its data is not to be found.
 */
export async function loadTau2Domain(name: string, options?: DataOptions): Promise<Tau2Domain> {
  const kind = kinds.find((one) => `${prefix}${one.name}` === name)
  if (!kind)
    throw new ValidationError(`There is no domain ${name}: tau2's are ${tau2Domains.join(', ')}`)
  const files = openData(kind.folder, options)
  const policy = kind.policy.compose(
    await Promise.all(kind.policy.files.map((file) => files.text(file))),
  )
  const { agent, user } = kind
  const bases = {
    agent: createBase(agent.database, await files.value(agent.file)),
    user: user && createBase(user.database, await files.value(user.file)),
  }
  const tasks = await readTasks(files)
  const splits = await readSplits(files)
  return {
    name,
    policy,
    tasks,
    splits,
    defaultSplit: 'base',
    open: (task) => openWorld(kind, bases, task),
    manifest: files.manifest(),
    prompts: tau2Prompts,
  }
}

/** The tasks as the file has them; the check rebuilds what it reads, and would lose which numbers are floats. */
async function readTasks(files: DataFiles): Promise<readonly EvalTask[]> {
  const tasks: unknown = toJson(await files.value('tasks.json'))
  parseTasks(tasks)
  return tasks as readonly EvalTask[] // just checked
}

async function readSplits(files: DataFiles): Promise<Record<string, readonly string[]>> {
  const splits = await files.value('split_tasks.json')
  if (!isDict(splits)) throw new ValidationError('split_tasks.json is no object')
  return Object.fromEntries([...splits].map(([name, ids]) => [name, toIds(ids)]))
}

function toIds(ids: Value): string[] {
  return isList(ids) ? ids.map(String) : []
}
