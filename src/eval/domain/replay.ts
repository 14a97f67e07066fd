import { z } from 'zod'
import { runInSlices } from '../../shared/async.ts'
import { PatternFault } from '../../shared/pattern/parse.ts'
import { compilePattern } from '../../shared/pattern/pattern.ts'
import { parseWith, sameJson, tryParse, ValidationError } from '../base.ts'
import {
  type ConversationMessage,
  type Environment,
  type EvalTask,
  type GoldAction,
  isToolCall,
  type Requestor,
  type ToolCall,
  type ToolDescriptor,
  type ToolMessage,
  type ToolOutcome,
} from './domain.ts'

/**
 * Does in a fresh world what a task's history did. Whoever opens a world ends with this, so that the simulated world,
 * the one rebuilt from a conversation, the golden one and that of doing nothing all begin alike.
 *
 * @throws ValidationError where a call does not give what the history says: the task cannot be used.
 */
export async function replayHistory(environment: Environment, task: EvalTask): Promise<void> {
  const [different] = await replay(environment, historyOf(task))
  if (different)
    throw new ValidationError(
      `The history's call of ${different.name} gave ${different.recorded}, but gives ${different.content} here`,
    )
}

/** A call that gave something else than it is recorded to have given. */
export interface Difference {
  readonly name: string
  readonly recorded: string
  readonly content: string
}

/**
 * Does again what a conversation did to its world: every call that changes something, in order. Reads, unknown tools
 * and calls that were refused are left out. Gives back the calls whose outcome differs from the recorded one.
 */
export async function replay(
  environment: Environment,
  messages: readonly ConversationMessage[],
): Promise<readonly Difference[]> {
  const results = new Map<string, ToolMessage>()
  for (const message of messages) if (message.role === 'tool') results.set(message.id, message)
  const different: Difference[] = []
  for (const message of messages) {
    if (message.role === 'tool' || !isToolCall(message)) continue
    for (const call of message.tool_calls ?? []) {
      const recorded = results.get(call.id)
      if (recorded?.refused || environment.kindOf(call.name, call.requestor) !== 'write') continue
      const { content } = await environment.call(call)
      if (recorded && !sameContent(content, recorded.content))
        different.push({ name: call.name, recorded: recorded.content, content })
    }
  }
  return different
}

function sameContent(a: string, b: string): boolean {
  return a === b || sameJson(tryParse(a) ?? a, tryParse(b) ?? b)
}

/** What was said before a task begins, with what its author may leave out as tau2 completes it. */
export function historyOf(task: EvalTask): readonly ConversationMessage[] {
  return (task.initial_state?.message_history ?? []).map(complete)
}

const toolDefaults = { requestor: 'assistant', error: false } as const
const callDefaults = { requestor: 'assistant' } as const

/** The type promises more than a task's file must say. */
function complete(message: ConversationMessage): ConversationMessage {
  if (message.role === 'tool') return { ...toolDefaults, ...message }
  const { content = null, tool_calls: calls } = message
  return {
    ...message,
    content,
    tool_calls: calls?.map((call) => ({ ...callDefaults, ...call })) ?? null,
  }
}

/** A conversation without the history that it begins with, which the world of its task has seen already. */
export function afterHistory(
  task: EvalTask,
  messages: readonly ConversationMessage[],
): readonly ConversationMessage[] {
  return messages.slice(task.initial_state?.message_history?.length ?? 0)
}

/*
 * How a golden user and a golden agent solve a task between them, over any wire. The user opens with the task's id. The
 * agent does its actions up to the first that is the user's, then asks for that part; the user does it and says so; and
 * on it goes to the last action, after which the agent tells every fact that is to be told. Whoever only listens, as the
 * idle agent does, asks for nothing, and the user hangs up.
 */

/** Golden actions in a row that are of one side. */
export interface GoldenStep {
  readonly requestor: Requestor
  readonly actions: readonly GoldAction[]
}

/** The golden actions of a task in their order, by turns of agent and user. */
export function goldenSteps(task: EvalTask): readonly GoldenStep[] {
  const steps: { requestor: Requestor; actions: GoldAction[] }[] = []
  for (const action of task.evaluation_criteria?.actions ?? []) {
    const { requestor = 'assistant' } = action
    const last = steps.at(-1)
    if (last?.requestor === requestor) last.actions.push(action)
    else steps.push({ requestor, actions: [action] })
  }
  return steps
}

/** The golden user's first words. */
export function goldenOpening({ id }: EvalTask): string {
  return `Please see to the task ${id}.`
}

/** What the user has just said where a task's history ends with it: then the agent is the first to speak. */
export function waitingWords(task: EvalTask): string | undefined {
  const last = historyOf(task).at(-1)
  return last?.role === 'user' && !isToolCall(last) ? (last.content ?? undefined) : undefined
}

const request = 'Please do this on your side:'

/** The golden agent's words to a user who has to act; they name the tools, so that a script can tell them apart. */
export function askForPart({ actions }: GoldenStep): string {
  const calls = actions.map(({ name, arguments: args }) => `${name}(${JSON.stringify(args)})`)
  return `${request} ${calls.join(', ')}`
}

/** Whether an agent's words ask the user to act. */
export function asksForPart(words: string | null): boolean {
  return words?.startsWith(request) ?? false
}

/** Says why a call cannot be run; undefined when it can. */
export type CallCheck = (call: ToolCall) => string | undefined

/** Makes a check of calls against the tools there are: a known name, arguments that fit its schema. */
export function createCallCheck(tools: readonly ToolDescriptor[]): CallCheck {
  const schemas = new Map(tools.map((tool) => [tool.name, tool.parameters]))
  const compiled = new Map<string, z.ZodType>()
  return (call) => {
    if (call.fault) return call.fault
    const schema = schemas.get(call.name)
    if (!schema) return `Tool '${call.name}' not found`
    const check = compiled.get(call.name) ?? compile(schema)
    compiled.set(call.name, check)
    const result = check.safeParse(call.arguments)
    return result.success ? undefined : `Invalid arguments: ${explain(result.error)}`
  }
}

function compile(schema: ToolDescriptor['parameters']): z.ZodType {
  // A descriptor's parameters are JSON Schema by contract; zod's own type of it is only narrower in words.
  return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
}

function explain(error: z.ZodError): string {
  return error.issues
    .map((issue) => `${issue.path.join('.') || 'arguments'}: ${issue.message}`)
    .join('; ')
}

/** The outcome of a call that is not executed. */
export function refusedCall(problem: string): ToolOutcome {
  return { content: `Error: ${problem}`, error: true, refused: true }
}

/** A built-in domain that had another name once. Results that were written then are still of the same domain. */
const renamed: Readonly<Record<string, string>> = { airline: 'kestrel' }

/** Gives the name that a domain has today, by its name then. */
export function presentName(name: string): string {
  return Object.hasOwn(renamed, name) ? (renamed[name] ?? name) : name
}

/** The name that a domain had first: what it is known by where old results must stay comparable. */
export function firstName(name: string): string {
  return Object.entries(renamed).find(([, present]) => present === name)?.[0] ?? name
}

const json = z.record(z.string(), z.json())
const requestor = z.enum(['assistant', 'user'])
const envCall = z.looseObject({ env_type: requestor, func_name: z.string(), arguments: json })

const criteria = z.looseObject({
  actions: z
    .array(
      z.looseObject({
        name: z.string(),
        arguments: json,
        requestor: requestor.optional(),
        compare_args: z.array(z.string()).nullish(),
      }),
    )
    .nullish(),
  env_assertions: z.array(envCall.extend({ assert_value: z.boolean().optional() })).nullish(),
  communicate_info: z.array(z.string()).nullish(),
  nl_assertions: z.array(z.string()).nullish(),
  reward_basis: z
    .array(z.enum(['DB', 'ENV_ASSERTION', 'ACTION', 'COMMUNICATE', 'NL_ASSERTION']))
    .nullish(),
})

const historyMessage = z.looseObject({ role: z.enum(['user', 'assistant', 'tool']) })

const pattern = z.string().superRefine((when, context) => {
  const message = whenFault(when)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

/** Why a `when` cannot be used, and where in it; undefined where it can. */
export function whenFault(when: string): string | undefined {
  try {
    compileWhen(when)
    return undefined
  } catch (error) {
    if (!(error instanceof PatternFault)) throw error
    return `is no pattern that can be used: ${error.message} (at character ${error.position + 1})`
  }
}

/** How much work a scripted user puts into hearing one thing: about a second. Of what is longer, it hears the beginning. */
const maxWork = 100_000_000

/**
 * Reads the `when` of a scripted reply: what tells whether it is found in a text, in either case of its letters. The
 * text is the agent's, who may be hostile, so its time grows with the text's length only, and
 * the work is done in slices, so that other conversations continue meanwhile.
 * @throws PatternFault
 */
export function compileWhen(when: string): (said: string) => boolean | Promise<boolean> {
  const pattern = compilePattern(when, { ignoreCase: true })
  const heard = Math.floor(maxWork / pattern.size)
  return (said) => runInSlices(pattern.testing(said.slice(0, heard)))
}

const script = z.strictObject({
  opening: z.string().min(1),
  replies: z.array(
    z.strictObject({
      when: pattern,
      say: z.string().optional(),
      call: z.strictObject({ name: z.string(), arguments: json }).optional(),
      stop: z.boolean().optional(),
      times: z.int().positive().optional(),
    }),
  ),
  fallback: z.string().optional(),
  patience: z.int().nonnegative().optional(),
})

const task = z.looseObject({
  id: z.union([z.string(), z.number()]).transform(String),
  user_scenario: z.looseObject({ instructions: z.union([z.string(), json]) }).nullish(),
  initial_state: z
    .looseObject({
      initialization_data: z.looseObject({}).nullish(),
      initialization_actions: z.array(envCall).nullish(),
      message_history: z.array(historyMessage).nullish(),
    })
    .nullish(),
  evaluation_criteria: criteria.nullish(),
  user_script: script.nullish(),
})

/**
 * Checks a list of tasks.
 *
 * @throws ValidationError with the path of every fault, or for an id that occurs twice.
 */
export function parseTasks(value: unknown): readonly EvalTask[] {
  const unique = z
    .array(task)
    .refine((list) => new Set(list.map(({ id }) => id)).size === list.length, 'ids must be unique')
  // The schema checks what EvalTask promises; loose objects keep what it does not know.
  return parseWith<unknown>(unique, value, 'tasks') as readonly EvalTask[]
}
