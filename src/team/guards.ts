import { readGuards } from '../agents/guards/built-in.ts'
import {
  DiscreetTurn,
  GuardCheck,
  type VerdictAnswer,
  type VerdictQuestion,
  verdictSchema,
  withoutWords,
} from '../agents/guards/check.ts'
import type { GuardSide, Guards } from '../agents/guards/guard.ts'
import type { ReadyGuards } from '../agents/guards/ready.ts'
import { checkArtifact, checkPieces, guardInput } from '../agents/guards/with-guards.ts'
import { A2AError } from '../protocol/errors.ts'
import { textOf } from '../protocol/task.ts'
import type { Artifact, Message } from '../protocol/types.ts'
import type { TeamConfig } from './config.ts'
import { delegate } from './delegate.ts'
import type { Live, TeamOutput } from './output.ts'
import { replyParts } from './reply.ts'
import { type Run, Suspension, toMember } from './run.ts'
import type { MemberReply } from './schedulers/scheduler.ts'

/** Where the guards of a team ask, rather than those of a step. */
const teamPlace = 'team'

/** The guards of a team and its steps, each made ready when it is first needed. */
export class TeamGuards {
  readonly #members: readonly string[]
  readonly #made = new WeakMap<Guards, ReadyGuards>()

  constructor({ agents }: TeamConfig) {
    this.#members = agents.map(({ agentId }) => agentId)
  }

  /** Guards ready for use; made once for each time they are written. */
  ready(guards: Guards): ReadyGuards {
    const known = this.#made.get(guards)
    if (known) return known
    const ready = readGuards(guards, { members: this.#members })
    this.#made.set(guards, ready)
    return ready
  }

  /** Asks a member for a verdict, as a delegation. @throws A2AError when it cannot be had. */
  async ask(
    run: Run,
    place: string,
    { member, parts, name }: VerdictQuestion,
  ): Promise<VerdictAnswer> {
    const message = toMember(run, parts)
    const asked = {
      name: `${place}!${name}`,
      agentId: member,
      message,
      alone: true,
      // What guards the whole team is asked again by a turn that runs again.
      within: place !== teamPlace,
      answerSchema: verdictSchema,
    }
    const turn = new DiscreetTurn(run.turn, withoutWords)
    try {
      return { parts: replyParts(await delegate({ ...run, turn }, asked)) }
    } catch (thrown) {
      // The user has nothing to say about it.
      if (!(thrown instanceof Suspension)) throw thrown
      throw new A2AError('processingError', 'An agent of the team gave no verdict')
    }
  }
}

/**
 * The run of a team under guards: what it has heard is what they have left, and what it says is checked first.
 * @throws ContentBlocked
 */
export async function guardRun(run: Run, guards: Guards, message: Message): Promise<Run> {
  const ready = run.guards.ready(guards)
  const turn = await guardInput(checkOf(run, ready, 'input'), message, run.turn)
  run.memory.hear(turn.message === run.turn.message ? message : turn.message)
  const guarded = { ...run, turn }
  const check = checkOf(guarded, ready, 'output')
  if (!check.isNeeded) return guarded
  return {
    ...guarded,
    turn: new DiscreetTurn(turn, (entry) => check.discreet(entry)),
    output: guardOutput(run.output, check),
  }
}

function checkOf(run: Run, ready: ReadyGuards, at: GuardSide): GuardCheck {
  return new GuardCheck(at, run.turn, {
    guards: ready,
    owner: { team: run.config.id },
    askMember: (question: VerdictQuestion) => run.guards.ask(run, teamPlace, question),
  })
}

/** Nothing goes out before it is checked, so the caller gets members' words at the end, not as they come. */
function guardOutput(output: TeamOutput, check: GuardCheck): TeamOutput {
  /** Where a member is asked for verdicts they are left out: each would cost a question. */
  const progress = async (text: string): Promise<void> => {
    if (check.asksMembers) return
    await output.progress(textOf(await check.parts([{ text }], 'status')))
  }
  return {
    ...output,
    progress,
    live: () => createHeldLive(progress),
    deliver: async (reply) => output.deliver(await checkReply(check, reply)),
    async toQuestion(reply) {
      const given = reply.message?.parts ?? replyParts(reply)
      const parts = await check.parts(given, 'question')
      const { artifacts: _, metadata, ...asked } = reply
      const message = reply.message && { ...reply.message, parts }
      return {
        ...asked,
        ...(message ? { message } : { artifacts: [{ artifactId: 'question', parts }] }),
        ...(metadata && { metadata: await check.notes(metadata) }),
      }
    },
  }
}

function createHeldLive(progress: (text: string) => Promise<void>): Live {
  return {
    onEvent(event) {
      if (!('statusUpdate' in event)) return undefined
      const { state, message } = event.statusUpdate.status
      const isShown = state === 'TASK_STATE_WORKING' && message
      return isShown ? progress(textOf(message.parts)) : undefined
    },
    restart() {},
    finish() {},
  }
}

async function checkReply(check: GuardCheck, reply: MemberReply): Promise<MemberReply> {
  const { artifacts = [], message } = reply
  if (artifacts.length === 0) {
    const [parts = []] = await checkPieces(check, [message?.parts ?? []])
    return message ? { ...reply, message: { ...message, parts } } : reply
  }
  const left = await checkPieces(
    check,
    artifacts.map(({ parts }) => parts),
  )
  const checked: Artifact[] = []
  for (const [index, artifact] of artifacts.entries()) {
    const parts = left[index]
    if (parts) checked.push(await checkArtifact(check, artifact, parts))
  }
  return { ...reply, artifacts: checked }
}
