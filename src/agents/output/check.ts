import { A2AError } from '../../protocol/errors.ts'
import { textOf } from '../../protocol/task.ts'
import type { Json, Message, Part } from '../../protocol/types.ts'
import { addUsage, type Usage } from '../../protocol/usage.ts'
import { isAsyncIterable } from '../../shared/async.ts'
import { notJson, readJsonAnswer } from '../../shared/json-answer.ts'
import type { AgentEvent, Turn } from '../agent.ts'
import type { DataReading, DataSchema } from '../data-schema.ts'
import { readAgentEvent } from '../reply.ts'
import type { AskAgent } from '../wrap.ts'
import { HeldAnswer } from './held.ts'
import type { OutputRules } from './rules.ts'
import { Tries, toRepeat } from './tries.ts'
import { FirstTry, FurtherTry } from './turn.ts'

/** How often an answer that does not fit is asked for again where nobody says. */
export const defaultOutputRetries = 2

/** An agent that is asked, and what is asked of its answer. */
interface CheckedQuestion extends OutputRules {
  readonly ask: AskAgent
  readonly message: Message
  readonly turn: Turn
  /** Whether the agent sees in a further try what it saved in earlier ones. */
  readonly keepsState: boolean
}

/**
 * An answer that fits a schema, as data. Nothing of it is told before it is whole and checked. One that does not fit is
 * asked for again, with why and with what was said. A question, a call of the client's tools, a handing over and a
 * failure are no answers: they pass as they are, and what follows a question is checked again.
 *
 * @throws A2AError `invalidAgentResponse` with the last fault when no try has given one that fits.
 */
export async function* checkedAnswer(question: CheckedQuestion): AsyncGenerator<AgentEvent> {
  const { ask, turn, schema, maxOutputRetries = defaultOutputRetries } = question
  const tries = new Tries(turn, question.message)
  while (true) {
    if (tries.number > 1) {
      count(turn, tries.usedByAll)
      if (tries.number > 1 + maxOutputRetries) throw unfit(tries.fault, tries.number - 1)
      turn.account?.check()
    }
    const own = tries.number === 1 ? toFirstTry(question) : await toFurtherTry(question, tries)
    const held = new HeldAnswer(turn)
    const reply = ask(own.turn, own.message)
    if (isAsyncIterable(reply)) yield* hear(reply, held)
    else held.takeAnswer(await reply)
    if (!held.isAnswer) {
      if (held.asks) await tries.asks()
      for (const event of held.asItIs(tries.used)) yield event
      return
    }
    const reading = await readParts(held.parts, schema)
    if (reading.fault === undefined) {
      for (const event of held.asData(reading.data, tries.used)) yield event
      return
    }
    const { number } = tries
    const { fault } = reading
    turn.trace({ type: 'output', try: number, fault: fault.slice(0, longestFault) })
    if (maxOutputRetries === 0) {
      count(turn, addUsage(tries.usedByAll, held.usage))
      throw unfit(fault, number)
    }
    // The last one too: a turn that runs again after a crash does not begin anew.
    await tries.refuse(held.parts, fault, held.usage)
  }
}

/** As long as any text of a trace may be. */
const longestFault = 2_000

/** What answers that nobody gets have cost is spent all the same. */
function count({ account }: Turn, used: Usage | undefined): void {
  if (used) account?.resume(used)
}

/** What one try asks, and the turn that it is asked in. */
interface Try {
  readonly turn: Turn
  readonly message: Message
}

function toFirstTry({ turn, message, schema }: CheckedQuestion): Try {
  return { turn: new FirstTry(turn, schema.jsonSchema), message }
}

async function toFurtherTry(
  { turn, message, schema, keepsState }: CheckedQuestion,
  { number, last }: Tries,
): Promise<Try> {
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
async function readParts(parts: readonly Part[], schema: DataSchema): Promise<DataReading<Json>> {
  const data = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  if (data.length > 0) return readValue(data.length === 1 ? data[0] : data, schema)
  let first: DataReading<Json> | undefined
  for (const value of readJsonAnswer(textOf(parts))) {
    const reading = await readValue(value, schema)
    if (reading.fault === undefined) return reading
    first ??= reading
  }
  return first ?? { fault: notJson }
}

async function readValue(value: unknown, schema: DataSchema): Promise<DataReading<Json>> {
  const reading = await schema.read(value)
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

function unfit(fault: string, tries: number): A2AError {
  const times = tries === 1 ? '' : `, after ${tries} tries`
  return new A2AError(
    'invalidAgentResponse',
    `The answer does not fit its schema${times}: ${fault}`,
  )
}
