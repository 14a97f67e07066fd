import type { Agent } from '../../../agents/agent.ts'
import { withOutputSchema } from '../../../agents/output/with-schema.ts'
import { toDataSchema } from '../../../agents/schema.ts'
import type { Message, Part } from '../../../protocol/types.ts'
import { delegate } from '../../delegate.ts'
import { type Delegation, toMember } from '../../run.ts'
import type { AskRules } from '../../step-config.ts'
import type { CallRules, MemberReply } from '../scheduler.ts'
import type { StepPlace } from './place.ts'
import { type ReadyRule, type RuleSite, readContent, withFeedback } from './rules.ts'

/** A member as a step asks it. */
export interface MemberAsk {
  readonly agentId: string
  /** Asks it at a place. */
  ask(place: StepPlace, more: CallDetails): Promise<MemberReply>
}

/** What differs from call to call. */
type CallDetails = Pick<Delegation, 'facesCaller' | 'alone' | 'live'>

/** Reads what a step asks of a member. */
export function planCall(
  call: CallRules & AskRules & { readonly agentId: string },
  site: Omit<RuleSite, 'key'>,
): MemberAsk {
  const { agentId, timeoutSeconds, maxRetries, fallbackAgentId, guards } = call
  const wrap = wrapperOf(call)
  const path = [...site.path, 'input']
  const input =
    call.input === undefined ? undefined : readContent(call.input, { ...site, key: 'input', path })

  /** Written out: one is made per step, and a spread costs more than all else about it. */
  function send(
    { run, name }: StepPlace,
    more: CallDetails,
    message: Message,
  ): Promise<MemberReply> {
    const { facesCaller, alone, live } = more
    return delegate(run, {
      name,
      agentId,
      message,
      facesCaller,
      alone,
      live,
      wrap,
      timeoutSeconds,
      maxRetries,
      fallbackAgentId,
      guards,
    })
  }

  return {
    agentId,
    ask(place, more) {
      if (!input) return send(place, more, heard(place))
      return written(input, place).then((message) => send(place, more, message))
    },
  }
}

async function written(input: ReadyRule<readonly Part[]>, place: StepPlace): Promise<Message> {
  return toMember(place.run, await input(place))
}

/** The answer before it, as it is. */
function heard(place: StepPlace): Message {
  const { input, run } = place
  return place.known.untold === '' ? input : toMember(run, withFeedback(input.parts, place))
}

/** What a step asks of the answer stands around the member, which is wrapped once. */
function wrapperOf(rules: AskRules): Delegation['wrap'] {
  const { outputSchema, jsonSchema, maxOutputRetries } = rules
  if (outputSchema === undefined) return undefined
  const schema = toDataSchema(outputSchema, { at: 'outputSchema', jsonSchema })
  const wrapped = new WeakMap<Agent, Agent>()
  return (agent) => {
    const known = wrapped.get(agent)
    if (known) return known
    const made = withOutputSchema(agent, schema, { maxOutputRetries })
    wrapped.set(agent, made)
    return made
  }
}
