import { z } from 'zod'
import type { JsonObject } from '../../protocol/types.ts'
import { messageOf, ValidationError } from '../base/errors.ts'
import { parseWith } from '../base/json.ts'
import { toJson } from '../tau2/bridge.ts'
import { parseJson } from '../tau2/python/json.ts'
import type { Requestor } from './conversation.ts'
import type { Domain, ToolOutcome } from './environment.ts'
import type { EvalTask } from './task.ts'

/** A call to be executed in a domain's world. */
export interface PlannedCall {
  readonly name: string
  /** Who calls; the agent if absent. */
  readonly requestor?: Requestor
  readonly arguments?: JsonObject
}

/** What calls gave back, and what they left of the world. */
export interface CallReport {
  /** What each call gave back, in order. */
  readonly outputs: readonly ToolOutcome[]
  /** The hash of the agent's half of the world afterwards. */
  readonly agent_hash: string
  /** The hash of the user's half; null where the user has no state of their own. */
  readonly user_hash: string | null
}

const calls = z.array(
  z.looseObject({
    name: z.string(),
    requestor: z.enum(['assistant', 'user']).optional(),
    arguments: z.record(z.string(), z.json()).optional(),
  }),
)

/**
 * Reads a list of calls, `[{"name", "requestor", "arguments"}, …]`.
 *
 * @throws ValidationError where the text is not such a list.
 */
export function parseCalls(text: string): readonly PlannedCall[] {
  const value = read(text)
  parseWith(calls, value, 'calls')
  // Just checked; the check's own copy would not know any more which numbers were written with a fraction.
  return value as readonly PlannedCall[]
}

/**
 * Runs calls in a fresh world: that of a task after its set-up, or the domain's own. What a tool refuses is an output
 * like any other.
 *
 * @throws ValidationError for a task that the domain does not have.
 */
export async function runCalls(
  domain: Domain,
  planned: readonly PlannedCall[],
  taskId?: string,
): Promise<CallReport> {
  const world = await domain.open(taskId === undefined ? { id: '' } : taskOf(domain, taskId))
  try {
    const outputs: ToolOutcome[] = []
    for (const [
      index,
      { name, requestor = 'assistant', arguments: args = {} },
    ] of planned.entries())
      outputs.push(await world.call({ id: `call_${index}`, name, requestor, arguments: args }))
    const { agent, user } = await world.hash()
    return { outputs, agent_hash: agent, user_hash: user }
  } finally {
    await world.close()
  }
}

function taskOf(domain: Domain, id: string): EvalTask {
  const task = domain.tasks.find((one) => one.id === id)
  if (!task) throw new ValidationError(`The domain ${domain.name} has no task ${id}`)
  return task
}

function read(text: string): unknown {
  try {
    return toJson(parseJson(text))
  } catch (error) {
    throw new ValidationError(`The calls are no JSON: ${messageOf(error)}`, { cause: error })
  }
}
