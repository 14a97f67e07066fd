import { A2AError } from '../../protocol/errors.ts'
import { addUsage, type Usage } from '../../protocol/extensions.ts'
import { textOf } from '../../protocol/task.ts'
import type { Json, Message, Part } from '../../protocol/types.ts'
import { isAsyncIterable } from '../../shared/async.ts'
import { notJson, readJsonAnswer } from '../../shared/json.ts'
import type { Agent, AgentEvent, AgentOf, DataReading, DataSchema, Turn } from '../agent.ts'
import { type AgentConfig, outputRows } from '../config.ts'
import { ConfigConversionError, checkNumber, invalidValue } from '../config-checks.ts'
import { readAgentEvent } from '../reply.ts'
import { toDataSchema } from '../schema.ts'
import { acceptsTools } from '../tools.ts'
import { type AskAgent, wrapAgent } from '../wrap.ts'
import {
  cancelTries,
  FirstTry,
  FurtherTry,
  HeldAnswer,
  Tries,
  toRepeat,
  toShownAnswer,
} from './tries.ts'

/** What becomes of answers that do not fit their schema. */
export interface OutputOptions {
  /** How often an answer that does not fit is asked for again; 2 if absent. */
  readonly maxOutputRetries?: number | undefined
}

/** Makes an agent's answers fit a schema: each is checked, asked for again where it does not fit, and becomes data. */
export function withOutputSchema<Output>(
  agent: Agent,
  schema: DataSchema<Output>,
  { maxOutputRetries }: OutputOptions = {},
): AgentOf<Output> {
  const keepsState = acceptsTools(agent)
  const wrapped = wrapAgent(agent, {
    info: async () => {
      const info = await agent.info()
      return { ...info, details: { ...info.details, outputSchema: schema.jsonSchema } }
    },
    process: (ask, message, turn) =>
      checkedAnswer({ ask, message, turn, schema, maxOutputRetries, keepsState }),
    cancel: agent.cancel && ((task) => cancelTries(agent, task)),
    // Requests that the agent answers by itself would go past the check.
    dispatch: undefined,
    outputSchema: schema,
  })
  return wrapped as AgentOf<Output> // its schema has just been put there
}

/** What is asked of an answer. */
interface OutputRules {
  readonly schema: DataSchema
  /** How often an answer that does not fit is asked for again; 2 if absent. */
  readonly maxOutputRetries?: number | undefined
}

/** An agent that is asked, and what is asked of its answer. */
interface CheckedQuestion extends OutputRules {
  readonly ask: AskAgent
  readonly message: Message
  readonly turn: Turn
  /** Whether the agent sees in a further try what it saved in earlier ones. */
  readonly keepsState: boolean
}

/** As long as any text of a trace may be. */
const longestFault = 2_000

/**
 * An answer that fits a schema, as data. Nothing of it is told before it is whole and checked. One that does not fit is
 * asked for again, with why and with what was said. A question, a call of the client's tools, a handing over and a
 * failure are no answers: they pass as they are, and what follows a question is checked again.
 *
 * @throws A2AError `invalidAgentResponse` with the last fault when no try has given one that fits.
 */
export async function* checkedAnswer(question: CheckedQuestion): AsyncGenerator<AgentEvent> {
  const { ask, turn, schema, maxOutputRetries = outputRows.maxOutputRetries.default } = question
  const tries = new Tries(turn, question.message)
  while (true) {
    if (tries.number > 1) {
      count(turn, tries.usedByAll)
      if (tries.number > 1 + maxOutputRetries) throw unfit(tries, tries.number - 1)
      turn.account?.check()
    }
    const own =
      tries.number === 1
        ? { turn: new FirstTry(turn, schema.jsonSchema), message: question.message }
        : await toFurtherTry(question, tries)
    const held = new HeldAnswer(turn)
    const reply = ask(own.turn, own.message)
    if (isAsyncIterable(reply)) yield* hear(reply, held)
    else held.takeAnswer(await reply)
    if (!held.isAnswer) {
      if (held.asks) await tries.asks()
      for (const event of held.asItIs(tries.used)) yield event
      return
    }
    const reading = await readParts(held.parts, schema, turn.caller.userId)
    if (reading.fault === undefined) {
      for (const event of held.asData(reading.data, tries.used)) yield event
      return
    }
    const { number } = tries
    const { fault } = reading
    turn.trace({ type: 'output', try: number, fault: fault.slice(0, longestFault) })
    if (maxOutputRetries === 0) {
      count(turn, addUsage(tries.usedByAll, held.usage))
      throw unfit({ fault, said: toShownAnswer(held.parts) }, number)
    }
    // The last one too: a turn that runs again after a crash does not begin anew.
    await tries.refuse(held.parts, fault, held.usage)
  }
}

/** What rejected answers have cost is spent all the same. */
function count({ account }: Turn, used: Usage | undefined): void {
  if (used) account?.resume(used)
}

async function toFurtherTry(
  { turn, message, schema, keepsState }: CheckedQuestion,
  { number, last }: Tries,
): Promise<{ readonly turn: Turn; readonly message: Message }> {
  const { jsonSchema } = schema
  const mends = last !== undefined
  const asked = mends ? await toRepeat(message, last, { number, schema: jsonSchema }) : message
  const options = { number, message: asked, schema: jsonSchema, mends, keepsState }
  return { turn: new FurtherTry(turn, options), message: asked }
}

/** What is no part of the answer goes on at once. */
async function* hear(events: AsyncIterable<unknown>, held: HeldAnswer): AsyncGenerator<AgentEvent> {
  for await (const said of events) {
    const event = readAgentEvent(said, held)
    if (!held.take(event)) yield event
    if (held.hasEnded) return
  }
}

/** The data of a reply: that of its data parts, else the JSON that its words are or hold. */
async function readParts(
  parts: readonly Part[],
  schema: DataSchema,
  principal: string | undefined,
): Promise<DataReading<Json>> {
  const data = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  if (data.length > 0) return readValue(data.length === 1 ? data[0] : data, schema, principal)
  let first: DataReading<Json> | undefined
  for (const value of readJsonAnswer(textOf(parts))) {
    const reading = await readValue(value, schema, principal)
    if (reading.fault === undefined) return reading
    first ??= reading
  }
  return first ?? { fault: notJson }
}

async function readValue(
  value: unknown,
  schema: DataSchema,
  principal: string | undefined,
): Promise<DataReading<Json>> {
  const reading = await schema.read(value, principal)
  if (reading.fault !== undefined) return reading
  // What stays as it was came from a data part or was read from JSON.
  return { data: reading.data === value ? (value as Json) : toJson(reading.data) }
}

/** A schema may make something else of what it reads, which must be JSON too. */
function toJson(data: unknown): Json {
  try {
    const text = JSON.stringify(data)
    if (text !== undefined) return JSON.parse(text)
  } catch {
    // a circle, or a number that JSON has not
  }
  const message = 'The output schema makes something of the answer that is no JSON'
  throw new A2AError('processingError', message)
}

/** What was answered stays in the cause, for operators. */
function unfit({ fault, said }: Pick<Tries, 'fault' | 'said'>, tries: number): A2AError {
  const times = tries === 1 ? '' : `, after ${tries} tries`
  return new A2AError(
    'invalidAgentResponse',
    `The answer does not fit its schema${times}: ${fault}`,
    { why: 'outputMisfit', cause: new Error(`It answered: ${said}`) },
  )
}

/**
 * What a configuration asks of an agent's answers; undefined where any will do.
 * @throws ConfigConversionError that names what is wrong.
 */
export function toOutputRules(config: AgentConfig): OutputRules | undefined {
  const { outputSchema, maxOutputRetries, metadata } = config
  if (maxOutputRetries !== undefined)
    checkNumber('max_output_retries', maxOutputRetries, outputRows.maxOutputRetries)
  if (!outputSchema) {
    if (maxOutputRetries === undefined) return undefined
    const reason = 'without output_schema every answer will do'
    throw invalidValue('max_output_retries', maxOutputRetries, reason)
  }
  if (/^return/i.test(String(metadata?.task_handling ?? '')))
    throw invalidValue('output_schema', '…', 'of a task that is not waited for there is no answer')
  try {
    return { schema: toDataSchema(outputSchema, { at: 'the schema' }), maxOutputRetries }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    const fault = { variant: 'InvalidValue', field: 'output_schema', value: '…' } as const
    throw new ConfigConversionError({ ...fault, reason: error.message }, { cause: error })
  }
}
