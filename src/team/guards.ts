import { GuardCheck, type VerdictQuestion } from '../agents/guards/check.ts'
import type { GuardSide, Guards } from '../agents/guards/guard.ts'
import { DiscreetTurn, withoutWords } from '../agents/guards/guarded-turn.ts'
import { guardInput } from '../agents/guards/input.ts'
import { checkArtifact, checkPieces } from '../agents/guards/pieces.ts'
import { readGuards } from '../agents/guards/read.ts'
import type { ReadyGuards } from '../agents/guards/ready.ts'
import { verdictSchema } from '../agents/guards/verdict.ts'
import { A2AError } from '../protocol/errors.ts'
import { textOf } from '../protocol/task.ts'
import type { Message } from '../protocol/types.ts'
import { delegate } from './delegate.ts'
import { Suspension } from './memory.ts'
import type { Live, TeamOutput } from './output.ts'
import { replyParts } from './reply.ts'
import { type Run, type TeamGuards, toMember } from './run.ts'
import type { MemberReply } from './schedulers/scheduler.ts'
import type { TeamConfig } from './team-config.ts'

/** Where the guards of a team ask, rather than those of a step. */
const teamPlace = 'team'

/** The guards of a team and its steps, each made ready when it is first needed. */
export function createTeamGuards({ agents }: TeamConfig): TeamGuards {
  const made = new WeakMap<Guards, ReadyGuards>()
  return {
    ready(guards) {
      const known = made.get(guards)
      if (known) return known
      const ready = readGuards(guards, { members: agents.map(({ agentId }) => agentId) })
      made.set(guards, ready)
      return ready
    },
    ask: async (run, place, { member, parts, name }) => {
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
    },
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
  return new GuardCheck({
    guards: ready[at],
    at,
    turn: run.turn,
    tracer: run.turn,
    owner: { team: run.config.id },
    askMember: (question: VerdictQuestion) => run.guards.ask(run, teamPlace, question),
  })
}

/** Nothing is told before it is checked, so members' words are heard at the end, not as they come. */
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
        ...(metadata && { metadata: check.notes(metadata) }),
      }
    },
  }
}

function createHeldLive(progress: (text: string) => Promise<void>): Live {
  return {
    async onEvent(event) {
      if (!('statusUpdate' in event)) return
      const { state, message } = event.statusUpdate.status
      if (state === 'TASK_STATE_WORKING' && message) await progress(textOf(message.parts))
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
  const checked = artifacts.flatMap((artifact, index) => {
    const parts = left[index]
    return parts ? [checkArtifact(check, artifact, parts)] : []
  })
  return { ...reply, artifacts: checked }
}
