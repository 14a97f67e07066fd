import type { EvalTask, GoldAction, RewardType, ScriptedReply } from '../task.ts'

/** A task of the airline in short: who calls, what they say, what a right solution does and says. */
export interface KestrelTask {
  readonly id: string
  readonly purpose: string
  readonly customer: string
  /** The caller's first words. */
  readonly opening: string
  /** What they know beyond it, and how they decide; for a model that plays the user. */
  readonly knows?: string
  /** Particular answers, before the general ones. */
  readonly replies?: readonly ScriptedReply[]
  readonly actions: readonly (readonly [name: string, args: GoldAction['arguments']])[]
  /** What the caller must be told. */
  readonly told?: readonly string[]
  readonly basis?: readonly RewardType[]
}

/** The task in tau2's format, with the lines of a caller who answers what desks usually ask. */
export function toTask(task: KestrelTask): EvalTask {
  const { id, purpose, customer, opening, knows = '', actions, told = [] } = task
  return {
    id,
    description: { purpose },
    user_scenario: {
      instructions: {
        domain: 'airline',
        reason_for_call: opening,
        known_info: `Your customer id is ${customer}. ${knows}`.trim(),
        task_instructions:
          'Agree to what serves your wish. If it is refused, accept that and end the call.',
      },
    },
    evaluation_criteria: {
      actions: actions.map(([name, args], index) => ({
        action_id: `${id}_${index}`,
        requestor: 'assistant',
        name,
        arguments: args,
      })),
      communicate_info: told,
      reward_basis: task.basis ?? ['DB', 'COMMUNICATE'],
    },
    user_script: {
      opening,
      replies: [...(task.replies ?? []), ...generalReplies(customer)],
      fallback: 'Could you please look into it?',
    },
  }
}

/**
 * Asked who they are, they say; asked to confirm, they agree; told that it is done or impossible, they hang up. The
 * order matters: a desk that explains and then asks has asked.
 */
function generalReplies(customer: string): readonly ScriptedReply[] {
  return [
    {
      when: 'customer (id|number)|e-?mail|who am i|your (full )?name|identif',
      say: `My customer id is ${customer}.`,
    },
    {
      when: 'shall i|should i|would you like|do you want|may i|\\bproceed\\b|go ahead|\\bconfirm\\b|is that (ok|okay|right)|correct\\?',
      say: 'Yes, please.',
      times: 4,
    },
    {
      when: "cannot|can't|unable to|not able to|not (possible|allowed|eligible|entitled|permitted)|unfortunately",
      say: 'I see. Then leave it as it is. Goodbye.',
      stop: true,
    },
    {
      when: "(has|have) been|\\b(is|are) now\\b|\\bdone\\b|successfully|all set|i( have|'ve)( just)? (cancelled|canceled|booked|changed|moved|added|issued|raised|upgraded)|hand(ed|ing) (you )?over|transferr",
      say: 'Thank you, that is all. Goodbye.',
      stop: true,
    },
  ]
}
