import { A2AError, type ErrorCode } from './errors.ts'

/*
 * Why something failed, for those who run the server. A record keeps the name of the cause and the words of the errors
 * (`FailureNote`); what they mean and what to do is the one table here, so that the console, the command and the trace
 * read the same words. Each row names its section of docs/guides/errors.md.
 */

/** Causes that an error's code does not tell apart. */
export type FailureCause =
  | 'modelKey'
  | 'modelName'
  | 'modelDown'
  | 'modelBusy'
  | 'agentThrew'
  | 'toolThrew'
  | 'guard'
  | 'budget'
  | 'remoteDown'
  | 'remoteKey'
  | 'outputMisfit'
  | 'webhook'
  | 'taskGone'
  | 'otherAgent'
  | 'storeDown'
  | 'interrupted'

/** What is stored of a failure: the words of the errors, without secrets. Only operators see it. */
export interface FailureNote {
  /** A `FailureCause` or an `ErrorCode`; a newer version may write others. */
  readonly cause: string
  /** The messages of the error and of its causes, outermost first. */
  readonly words: readonly string[]
  /** Which attempt of the member, or else of the turn, this was; from 1. */
  readonly attempt: number
  /** The member of a team that failed. */
  readonly member?: string
  /** The member's team. */
  readonly team?: string
}

/** A failure in words for a person who runs the server. */
export type Explanation = {
  /** Which cause it is, for programs. */
  readonly cause: string
  /** What failed. */
  readonly what: string
  /** The agent or member, or the webhook, that failed. */
  readonly member: string
  /** The member's team. */
  readonly team?: string
  /** Which attempt it was, from 1. */
  readonly attempt: number
  /** What the error, or the service that was asked, said. */
  readonly words: readonly string[]
  /** What to do. */
  readonly remedy: string
  /** The task continued: the call was tried again, answered by another agent, or done without. */
  readonly continued?: true
  /** The heading of its section in the guide. */
  readonly section: string
  /** The link to that section. */
  readonly link: string
}

interface FailureRow {
  readonly what: string
  readonly remedy: string
  readonly section: string
}

const causes: Readonly<Record<FailureCause, FailureRow>> = {
  modelKey: {
    what: 'The model service rejected the API key',
    remedy: 'Set the right key in the variable that api_key of the model names, and restart',
    section: 'Wrong API key',
  },
  modelName: {
    what: 'The model service knows no such model or path',
    remedy: 'Correct model and endpoint of the agent; the endpoint mostly ends with /v1',
    section: 'Model not found',
  },
  modelDown: {
    what: 'The model service cannot be reached, or is out of order',
    remedy: 'Start the service or correct endpoint of the model; curl ENDPOINT/models tells',
    section: 'Model down',
  },
  modelBusy: {
    what: 'The model service is asked too often',
    remedy: 'Ask less often, raise max_retries of the agent, or get a larger plan',
    section: 'Model down',
  },
  agentThrew: {
    what: 'The code of the agent threw an error',
    remedy: 'Correct the agent; the stack is in the log of the server',
    section: 'Agent threw',
  },
  toolThrew: {
    what: 'A tool threw an error; the model got its message and continued',
    remedy: 'Correct the tool; the stack is in the log of the server',
    section: 'Tool threw',
  },
  guard: {
    what: 'A guard blocked what was said',
    remedy: 'Send something else, or change the guard that the words name',
    section: 'Blocked by a guard',
  },
  budget: {
    what: 'The run has used up its budget',
    remedy: 'Raise the limit that the words name in [teams.budget], or let the team do less',
    section: 'Budget used up',
  },
  remoteDown: {
    what: 'The remote agent cannot be reached',
    remedy: 'Start it or correct its endpoint; corral card URL shows whether it answers',
    section: 'Remote agent gone',
  },
  remoteKey: {
    what: 'The remote agent rejected our credentials',
    remedy: 'Correct the credentials of the remote agent in the configuration',
    section: 'Remote agent gone',
  },
  outputMisfit: {
    what: 'No answer fits the output schema',
    remedy: 'Loosen output_schema, describe it in the instructions, or raise max_output_retries',
    section: 'Output does not fit',
  },
  webhook: {
    what: 'A webhook was given up; the task itself is not affected',
    remedy: 'Correct the receiver, then redrive it in the console or with corral webhooks redrive',
    section: 'Webhook rejected',
  },
  taskGone: {
    what: 'The task is not here: its question expired, it was dropped as old, or it is on another server',
    remedy:
      'Check URL and id, or send the message again; raise waiting_days or max_age_days of [server.retention]',
    section: 'Question expired',
  },
  otherAgent: {
    what: 'The task is at another agent of this server',
    remedy: 'Ask that agent: the words name its path',
    section: 'Task not found',
  },
  storeDown: {
    what: 'The task store cannot be used',
    remedy: 'Check the disk or the database of the store and GET /health, then send again',
    section: 'Store unavailable',
  },
  interrupted: {
    what: 'The server or its store stopped while the task ran, and the agent cannot resume',
    remedy: 'Send the message again; set resumable where the agent may run twice',
    section: 'Store unavailable',
  },
}

const everyCode = 'Every code'

const codes: Partial<Readonly<Record<ErrorCode, FailureRow>>> = {
  insufficientQuota: {
    what: 'The account with the model service is used up',
    remedy: 'Check plan and billing of the service, or set fallback_agent_id of the step',
    section: 'Quota used up',
  },
  timeout: {
    what: 'No answer came in time',
    remedy: 'Raise timeout_seconds of the step or agent, or find out why it is slow',
    section: 'Timeout',
  },
  contextLengthExceeded: {
    what: 'The conversation is longer than the model can read',
    remedy: 'Lower max_history of the model, or set history = "summarise"',
    section: everyCode,
  },
  toolRoundLimit: {
    what: 'The model called tools in every round that it may, and gave no answer',
    remedy: 'Raise max_tool_rounds, or look at the results of the tools in the trace',
    section: everyCode,
  },
  agentUnavailable: {
    what: 'The agent is not available',
    remedy: 'See that it runs and is registered; set max_retries or fallback_agent_id of the step',
    section: everyCode,
  },
  taskNotFound: {
    what: 'There is no such task for these credentials',
    remedy: 'Check the id, the agent in the URL and the credentials',
    section: 'Task not found',
  },
}

const otherwise: FailureRow = {
  what: 'The agent could not process the message',
  remedy: 'Read the words and the log of the server; the section lists every code',
  section: everyCode,
}

/** What a failure means: the row of its cause or code. */
export function explain(note: FailureNote, continued = false): Explanation {
  const { cause, words, attempt, member = '', team } = note
  const rows: Readonly<Record<string, FailureRow>> = { ...codes, ...causes }
  const row = (Object.hasOwn(rows, cause) ? rows[cause] : undefined) ?? otherwise
  const link = `docs/guides/errors.md#${row.section.toLowerCase().replaceAll(' ', '-')}`
  const optional = { ...(team !== undefined && { team }), ...(continued && { continued }) }
  return { cause, ...row, member, ...optional, attempt, words, link }
}

/** A member of a team has failed, for the reason that is the `cause`. The last one in a chain names the member itself. */
export class MemberFailed extends Error {
  override readonly name = 'MemberFailed'
  readonly team: string
  readonly member: string
  /** Which try of the member, from 1. */
  readonly attempt: number

  constructor(
    { team, member, attempt }: Pick<MemberFailed, 'team' | 'member' | 'attempt'>,
    thrown: unknown,
  ) {
    super(`Team "${team}": agent "${member}" failed`, { cause: thrown })
    this.team = team
    this.member = member
    this.attempt = attempt
  }
}

/** How many errors of a chain are stored, and how many characters of each. */
const maxChain = 8
const maxWords = 500

/** Gives the first `length` characters of a text without secrets. */
type Clean = (text: string, length: number) => string

/** What the log keeps of an error for operators: why, which member, and the words, which `clean` takes secrets out of. */
export function failureOf(thrown: unknown, clean: Clean, attempt = 1): FailureNote {
  const chain = chainOf(thrown)
  const at = chain.findLastIndex((error) => error instanceof MemberFailed)
  const failed = chain[at]
  // What a team or the engine says around the error is for callers.
  const own = chain.slice(at + 1)
  const [first] = own
  const isWrapped = first instanceof A2AError && first.why === 'agentThrew' && own.length > 1
  const words = (isWrapped ? own.slice(1) : own)
    .slice(0, maxChain)
    .map((error) => wordsOf(error, clean))
  return {
    cause: causeOf(chain, first),
    words: [...new Set(words)].filter((one) => one !== ''),
    attempt: failed instanceof MemberFailed ? failed.attempt : attempt,
    ...(failed instanceof MemberFailed && { team: failed.team, member: failed.member }),
  }
}

function chainOf(thrown: unknown): readonly unknown[] {
  const chain = [thrown]
  for (let error = thrown; error instanceof Error && chain.length < 4 * maxChain; ) {
    error = error.cause ?? (error instanceof AggregateError ? error.errors[0] : undefined)
    if (error === undefined) break
    chain.push(error)
  }
  return chain
}

/** The first error that says why decides, else the code of the first that is a team's member's own. */
function causeOf(chain: readonly unknown[], first: unknown): string {
  for (const error of chain)
    if (error instanceof A2AError && error.why !== undefined) return error.why
  return first instanceof A2AError ? first.code : 'agentThrew'
}

function wordsOf(thrown: unknown, clean: Clean): string {
  const said = thrown instanceof Error ? toSentence(thrown) : String(thrown)
  const text = clean(said, maxWords - 1)
  return said.length < maxWords ? text : `${text}…`
}

function toSentence(error: Error): string {
  const { name, message } = error
  const code = 'code' in error && !(error instanceof A2AError) ? String(error.code) : ''
  if (error instanceof A2AError || name === 'Error') return message || code
  return `${name}: ${message || code}`
}

/**
 * What an operator learns of a task that cannot be read: the words of the error, and what became of the task.
 *
 * @param task The task, and the agent of this server that has it, where another was asked.
 */
export function explainError(
  { code, message }: A2AError,
  note: FailureNote,
  task: { readonly id: string; readonly agent?: string | undefined },
): Explanation {
  const { id, agent } = task
  const known = { member: note.cause === 'storeDown' ? 'the task store' : `task ${id}`, ...note }
  if (code !== 'taskNotFound') return explain(known)
  if (agent !== undefined) {
    const words = [message, `It is at /agents/${agent}`]
    return explain({ ...known, cause: 'otherAgent', words })
  }
  // The ids of our tasks begin with the moment at which they were made (RFC 9562, version 7).
  if (!/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(id))
    return explain(known)
  const made = new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
  const words = [`${message}; it was made at ${made.toISOString()}`]
  return explain({ ...known, cause: 'taskGone', words })
}
