import { replyParts } from '../../reply.ts'
import type { Run } from '../../run.ts'
import { clip } from '../../trace.ts'
import type { MemberReply } from '../scheduler.ts'
import type { MemberAsk } from './call.ts'
import type { StepAnswer, StepPlace } from './place.ts'

/** A member answers. The last step's words go to the caller as they come, those of earlier ones as status texts. */
export async function runAgent(call: MemberAsk, place: StepPlace): StepAnswer {
  const { run, name, previous, last, known } = place
  const alone = known.item !== undefined
  const facesCaller = previous === undefined
  const reply = await call.ask(
    place,
    last ? { facesCaller, alone, live: 'now' } : { facesCaller, alone },
  )
  if (!last && run.memory.isFresh(`${name}:${call.agentId}`)) await report(run, call.agentId, reply)
  return reply
}

/** What a member's answer stands under. */
export function memberTitle({ config }: Run, id: string): string {
  const member = config.agents.find(({ agentId }) => agentId === id)
  return member?.role || id
}

async function report(run: Run, agentId: string, reply: MemberReply): Promise<void> {
  const words = clip(replyParts(reply), 200)
  await run.output.progress(`${memberTitle(run, agentId)}: ${words}`)
}
