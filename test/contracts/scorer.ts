import { describe, expect, test } from 'vitest'
import {
  basisOf,
  type ConversationMessage,
  type Domain,
  type EvalTask,
} from '../../src/eval/domain/domain.ts'
import { replay } from '../../src/eval/domain/replay.ts'
import { scoreConversation } from '../../src/eval/scorers/built-in.ts'
import type { Judge, Score, Scorer } from '../../src/eval/scorers/scorer.ts'

/** A scorer, and what it looks at: a conversation that it likes, and one that it does not. */
export interface ScorerSubject {
  readonly scorer: Scorer
  readonly domain: Domain
  readonly task: EvalTask
  readonly good: readonly ConversationMessage[]
  readonly bad: readonly ConversationMessage[]
  readonly judge?: Judge
}

const signal = new AbortController().signal

/** What every scorer owes a run. A new one passes this; these rules are tested nowhere else. */
export function describeScorer(name: string, subject: ScorerSubject): void {
  const { scorer, task, good, bad } = subject

  describe(`${name} scorer`, () => {
    test('gives 1 to a conversation that does all, with reasons that are all met', async () => {
      const { reward, checks } = await scoreOnce(subject, good)
      expect(reward).toBe(1)
      expect(checks.length).toBeGreaterThan(0)
      for (const { what, met } of checks) expect({ what, met }).toEqual({ what, met: true })
    })

    test('gives less to one that does not, with a reason that is not met', async () => {
      const { reward, checks } = await scoreOnce(subject, bad)
      expect(reward).toBeGreaterThanOrEqual(0)
      expect(reward).toBeLessThan(1)
      expect(checks.some(({ met }) => !met)).toBe(true)
    })

    test('says the same of the same conversation, and keeps it as it is', async () => {
      for (const messages of [good, bad]) {
        const before = JSON.stringify([task, messages])
        const score = await scoreOnce(subject, messages)
        expect(await scoreOnce(subject, messages)).toEqual(score)
        expect(JSON.stringify([task, messages])).toBe(before)
      }
    })

    test('gives reasons that can be written down and read', async () => {
      const { checks } = await scoreOnce(subject, bad)
      expect(JSON.parse(JSON.stringify(checks))).toEqual(checks)
      for (const { what } of checks) expect(what.trim()).not.toBe('')
    })

    test('has its part in the reward under its name', async () => {
      const whole = await scoreWhole(subject, good)
      expect(whole.reward_breakdown[scorer.name]).toBe(1)
      expect((await scoreWhole(subject, bad)).reward_breakdown[scorer.name]).toBeLessThan(1)
    })

    if (!scorer.needs?.(task).includes('judge')) return
    test('is not asked without a judge', async () => {
      const { judge: _, ...alone } = subject
      const { reward, info } = await scoreWhole(alone, good)
      expect(reward).toBeNull()
      expect(info.unscored).toContain(scorer.name)
    })
  })
}

async function scoreOnce(
  { scorer, domain, task, judge }: ScorerSubject,
  messages: readonly ConversationMessage[],
): Promise<Score> {
  const world = await domain.open(task)
  try {
    await replay(world, messages)
    return await scorer.score({ task, messages, world, domain, judge, signal })
  } finally {
    await world.close()
  }
}

function scoreWhole(
  { scorer, domain, task, judge }: ScorerSubject,
  messages: readonly ConversationMessage[],
) {
  const isNamed = basisOf(task).some((name) => name === scorer.name)
  return scoreConversation({
    domain,
    task,
    messages,
    termination: 'user_stop',
    signal,
    ...(judge && { judge }),
    ...(!isNamed && { scorers: [scorer] }),
  })
}
