import { dirname, resolve } from 'node:path'
import type { Agent } from '../agents/agent.ts'
import { A2AClient } from '../client/client.ts'
import { traceExtension } from '../protocol/extensions.ts'
import type { Dispatch } from '../protocol/operations.ts'
import { answerParts, isInterrupted, readableText } from '../protocol/task.ts'
import type { JsonObject, Message, StreamResponse, Task, TaskState } from '../protocol/types.ts'
import { createServer } from '../server/server.ts'
import type { Clock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import type { Logger } from '../shared/log.ts'
import { loadConfig } from './config/load.ts'
import type { ConfigVariables } from './config/values.ts'
import { createRoster, type Roster } from './roster.ts'

/** What came of a run. */
export interface TeamRun {
  /**
   * The answer, as JSON where it is data alone; the question where the task waits for the user, and the reason where it
   * failed.
   */
  readonly text: string
  /** Where the task is: completed, failed, or waiting for the user. */
  readonly state: TaskState
  /** The task itself. */
  readonly task: Task
  /** What the team asked the user, in order. */
  readonly questions: readonly string[]
  /** Whom the team asked what, in the order of asking, and what they said. */
  readonly delegations: readonly TracedDelegation[]
  /** Everything that was recorded, oldest first: delegations, decisions, model rounds, tools. */
  readonly trace: readonly JsonObject[]
  /** What a streaming client saw. */
  readonly events: readonly StreamResponse[]
}

/** One call of a member, as the trace of a run tells it. */
export interface TracedDelegation {
  /** Whose member it is. */
  readonly team: string
  readonly member: string
  /** The step, round or hop in which it was asked. */
  readonly step: string
  /** What it was asked. */
  readonly text: string
  /** Which try it was, from 1. */
  readonly try: number
  /** What it said; absent where it failed, or was left behind. */
  readonly answer?: string
  /** The code of the error by which it failed. */
  readonly reason?: string
  /** The way through nested teams by which it was reached. */
  readonly path?: string
}

/** How a team is run in a test. */
export interface RunTeamOptions {
  /** What the user answers when the team asks, in order, or by a function of the question; undefined leaves it open. */
  readonly answers?: readonly (string | Message)[] | AnswerFunction
  /** Messages that come first in the same conversation, each with a task of its own; the result tells of the last one only. */
  readonly earlier?: readonly (string | Message)[]
  /** Of a file: the team or agent to run; its first team if absent. */
  readonly team?: string
  /** Of a file: variables beside those of the process, before which they come. */
  readonly env?: ConfigVariables
  /** The server's time; the team's own is given where it is made. */
  readonly clock?: Clock
  /** Where warnings and errors go; stderr if absent, nowhere where it is `false`. */
  readonly logger?: Logger | false
}

/** Answers a team's question as the user; undefined leaves it open. */
export type AnswerFunction = (question: string) => string | Message | undefined

/**
 * Sends a message to a team, an agent, or the first team of a file, answers its questions, and tells what happened. It
 * runs as it does in a server, in memory and without a port. A run that fails is a result, not an error.
 * @throws Error where more answers are given than questions asked, and where a file cannot be used.
 */
export async function runTeam(
  team: Agent | string,
  message: string | Message,
  options: RunTeamOptions = {},
): Promise<TeamRun> {
  const { clock, logger } = options
  const opened = typeof team === 'string' ? await openFile(team, options) : lent(team)
  const { agent, prices, close } = opened
  try {
    const server = await createServer({
      agents: [agent],
      ...(clock && { clock }),
      ...(logger !== undefined && { logger }),
      ...(prices && { prices }),
    })
    try {
      const inside = server.dispatch()
      // A test reads what went wrong, as on a server of this machine alone.
      const dispatch: Dispatch = (name, request, call) =>
        inside(name, request, { ...call, isLocal: true })
      const client = new A2AClient({ dispatch, extensions: [traceExtension] })
      return await converse(client, message, options)
    } finally {
      await server.close()
    }
  } finally {
    await close()
  }
}

interface OpenedTeam extends Pick<Roster, 'prices'> {
  readonly agent: Agent
  close(): Promise<void>
}

async function openFile(
  path: string,
  { team, env, clock, logger }: RunTeamOptions,
): Promise<OpenedTeam> {
  const environment = { ...process.env, ...env }
  const config = await loadConfig(path, environment)
  const roster = await createRoster(config, {
    directory: dirname(resolve(path)),
    environment,
    ...(clock && { clock }),
    ...(logger && { log: logger }),
  })
  const agent = team === undefined ? roster.agents[0] : roster.manager.get(team)
  const { prices } = roster
  if (agent) return { agent, close: roster.close, ...(prices && { prices }) }
  await roster.close()
  const ids = [...config.teams, ...config.agents].map(({ id }) => id).join(', ') || 'nobody'
  throw new Error(`${path} has no team or agent "${team ?? ''}"; it has: ${ids}`)
}

/** Whoever made it closes it. */
function lent(agent: Agent): OpenedTeam {
  return { agent, close: async () => {} }
}

async function converse(
  client: A2AClient,
  message: string | Message,
  { earlier = [], answers = [] }: RunTeamOptions,
): Promise<TeamRun> {
  const events: StreamResponse[] = []
  const questions: string[] = []
  let contextId: string | undefined
  for (const said of earlier) ({ contextId } = await send(client, said, { events: [], contextId }))
  let task = await send(client, message, { events, contextId })
  while (isInterrupted(task.status.state)) {
    const question = saidBy(task)
    const answer = typeof answers === 'function' ? answers(question) : answers[questions.length]
    questions.push(question)
    if (answer === undefined) break
    task = await send(client, answer, { events, taskId: task.id, contextId: task.contextId })
  }
  const text = saidBy(task)
  const { state } = task.status
  if (typeof answers !== 'function' && answers.length > questions.length)
    throw new Error(
      `${answers.length} answers were given, but ${questions.length} questions asked; it ended ${state} with: ${text}`,
    )
  const trace = traceOf(task)
  return { text, state, task, questions, delegations: toDelegations(trace), trace, events }
}

interface SentLine {
  /** What the client sees is added here. */
  readonly events: StreamResponse[]
  /** The conversation, where there is one already, and the task in it that asked. */
  readonly contextId: string | undefined
  readonly taskId?: string
}

async function send(
  client: A2AClient,
  message: string | Message,
  { events, contextId, taskId }: SentLine,
): Promise<Task> {
  // With a key there is a task, and so a trace, also where an agent answers with nothing but a message.
  const options = {
    ...(contextId !== undefined && { contextId }),
    ...(taskId !== undefined && { taskId }),
    idempotencyKey: newId(),
  }
  let id = taskId
  for await (const event of client.sendAndFollow(message, options)) {
    events.push(event)
    id ??= taskIdOf(event)
  }
  return client.getTask(id ?? '')
}

function taskIdOf(event: StreamResponse): string | undefined {
  if ('task' in event) return event.task.id
  if ('message' in event) return event.message.taskId
  return 'statusUpdate' in event ? event.statusUpdate.taskId : event.artifactUpdate.taskId
}

function saidBy(task: Task): string {
  const { state, message } = task.status
  return readableText(state === 'TASK_STATE_COMPLETED' ? answerParts(task) : (message?.parts ?? []))
}

function traceOf({ metadata }: Task): readonly JsonObject[] {
  const trace = metadata?.[traceExtension]
  return Array.isArray(trace) ? trace.filter(isEntry) : []
}

function isEntry(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The calls that a trace tells of, in the order in which they began. */
function toDelegations(trace: readonly JsonObject[]): readonly TracedDelegation[] {
  return trace.flatMap((entry, index) =>
    entry.type === 'delegation' ? [toDelegation(entry, trace.slice(index + 1))] : [],
  )
}

function toDelegation(entry: JsonObject, later: readonly JsonObject[]): TracedDelegation {
  const isOfSameCall = (other: JsonObject): boolean =>
    ['team', 'call', 'member', 'path'].every((key) => other[key] === entry[key])
  const end = later.find(
    (other) => (other.type === 'reply' || other.type === 'failure') && isOfSameCall(other),
  )
  return {
    team: String(entry.team),
    member: String(entry.member),
    step: String(entry.step),
    text: String(entry.text),
    try: Number(entry.try),
    ...(end?.type === 'reply' && { answer: String(end.text) }),
    ...(end?.type === 'failure' && { reason: String(end.reason) }),
    ...(typeof entry.path === 'string' && { path: entry.path }),
  }
}
