import { userMessage } from '../protocol/build.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Message } from '../protocol/types.ts'
import { replyParts } from '../team/reply.ts'
import type { MemberReply } from '../team/schedulers/scheduler.ts'
import {
  defineScheduler,
  type OwnScheduler,
  type SchedulerRun,
  type TeamAgentConfig,
} from '../team/schedulers/scheduler.ts'

/** A scheduler that names one recipient after the other. */
export interface NextRecipientScheduler {
  /**
   * Who gets the message: a member's id; `user`, or nothing, when the last answer is the team's. It is asked once for
   * each answer, also where the run goes on after a crash or a question to the user.
   */
  determineNextRecipient(
    hop: RecipientHop,
  ): Promise<string | null | undefined> | string | null | undefined
}

/** What a scheduler that names recipients decides on. */
export interface RecipientHop {
  /** The user's message, or the last member's answer. */
  readonly message: Message
  /** The member that sent it; undefined is the user. */
  readonly sender: string | undefined
  /** The members in the team's order. */
  readonly members: readonly TeamAgentConfig[]
  /** How many messages were passed on, from 1. */
  readonly number: number
  readonly signal: AbortSignal
}

/** What a team demands of a scheduler that names recipients. */
export interface NextRecipientOptions {
  /** Members that the team must have; none by name if absent. */
  readonly members?: readonly string[]
  /** Members asked in one run before it fails; 10 if absent. */
  readonly maxHops?: number
}

/** Makes the `scheduler` of a team of an object that has `determineNextRecipient`. */
export function fromNextRecipient(
  scheduler: NextRecipientScheduler,
  options: NextRecipientOptions = {},
): OwnScheduler {
  return defineScheduler<NextRecipientOptions>({
    type: 'next-recipient',
    members: ({ members = [] }) => members,
    create: ({ maxHops = 10 }) => ({ schedule: (run) => passOn(run, scheduler, maxHops) }),
  })(options)
}

async function passOn(
  run: SchedulerRun,
  scheduler: NextRecipientScheduler,
  maxHops: number,
): Promise<MemberReply> {
  const { members, signal } = run
  let message = run.message
  let sender: string | undefined
  let reply: MemberReply | undefined
  for (let number = 1; number <= maxHops + 1; number++) {
    const hop = { message, sender, members, number, signal }
    const next = await run.decide(
      async () => (await scheduler.determineNextRecipient(hop)) ?? 'user',
    )
    if (next === 'user') return reply ?? nobody()
    if (number > maxHops) break
    reply = await run.ask(next, message, { facesCaller: sender === undefined })
    sender = next
    message = userMessage(replyParts(reply))
  }
  throw new A2AError('processingError', `No answer after ${maxHops} members`)
}

function nobody(): never {
  throw new A2AError('processingError', 'The scheduler names nobody to answer the message')
}
