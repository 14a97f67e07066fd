import type { Agent } from '../../../src/agents/agent.ts'
import type { GuardFunction, GuardVerdict } from '../../../src/agents/guards/guard.ts'
import type { Step } from '../../../src/team/config.ts'
import { defineTeam, type TeamDefinition } from '../../../src/team/team.ts'
import type { Process, Scenario } from './explorer.ts'
import { asker, telling, worker } from './members.ts'
import { model, modelWorld } from './models.ts'

const saying =
  (...texts: readonly string[]): Scenario['talk'] =>
  async (user) => {
    for (const text of texts) await user.say(text)
  }

/** What stands for a text, without a word of it: whoever gave it has not come to its end when a guard has. */
const turned = (text: string): string => [...text].reverse().join('')

/** A function that turns round and marks what it looks at, so that each verdict has words of its own. */
const marking =
  (p: Process, mark: string): GuardFunction =>
  ({ text: given }) => {
    const text = `${mark}<${turned(given)}>`
    p.note(mark, given, text)
    return { verdict: 'replace', text, reason: mark }
  }

/** A function that decides by name and allows; its steps are known by their names alone. */
const allowing =
  (p: Process, step: string): GuardFunction =>
  ({ text }) => {
    p.note(step, text, step)
    return { verdict: 'allow' }
  }

/** A member that is asked for verdicts; no verdict has the words of another. */
const judge = (p: Process, decide: (text: string) => GuardVerdict = () => ({ verdict: 'allow' })) =>
  telling(p, 'judge', (text) => {
    const verdict = decide(text)
    const reason = `judged [${turned(text)}]`
    return { says: JSON.stringify({ reason, ...verdict }), gives: reason }
  })

const flow = (
  agents: Readonly<Record<string, Agent>>,
  steps: readonly Step[],
  guards?: TeamDefinition['guards'],
) => [
  defineTeam({
    ...{ id: 'flow', name: 'flow', agents, ...(guards && { guards }) },
    scheduler: { type: 'workflow', steps },
  }),
]

const byJudge = [{ member: 'judge' }]
const tidy = ['secrets', { use: 'pattern', deny: '(?i)guarantee', action: 'replace' }] as const

/** Messages and answers under guards: functions, those of the house, and members that judge. */
export const guarded: readonly Scenario[] = [
  {
    name: 'a step under guards of every kind',
    agents: (p) =>
      flow({ a: worker(p, 'a'), b: worker(p, 'b'), judge: judge(p) }, [
        { agentId: 'a' },
        {
          agentId: 'b',
          guards: {
            input: [marking(p, 'in'), ...tidy, ...byJudge],
            output: [...byJudge, ...tidy, marking(p, 'out'), allowing(p, 'guard/output5/')],
          },
        },
        { agentId: 'a' },
      ]),
    talk: saying('I guarantee'),
  },
  {
    name: 'a team under guards whose member asks, and whose question is judged',
    agents: (p) =>
      flow(
        { a: worker(p, 'a'), b: asker(p, 'b'), judge: judge(p) },
        [{ agentId: 'a' }, { agentId: 'b' }, { approval: { question: 'Good?' } }],
        { input: [marking(p, 'in'), ...byJudge], output: [...byJudge, ...tidy] },
      ),
    talk: saying('go', 'red', 'yes'),
  },
  {
    name: 'a message that a judge blocks',
    agents: (p) =>
      flow(
        {
          a: worker(p, 'a'),
          judge: judge(p, (text) => ({ verdict: 'block', reason: `not ${turned(text)}` })),
        },
        [{ agentId: 'a' }],
        { input: byJudge },
      ),
    talk: saying('something bad'),
  },
  {
    name: 'an answer that a function blocks after a judge has allowed it',
    agents: (p) => {
      const block: GuardFunction = ({ text }) => {
        p.note('block', text, 'too blue')
        return { verdict: 'block', reason: 'too blue' }
      }
      return flow({ a: worker(p, 'a'), b: worker(p, 'b'), judge: judge(p) }, [
        { agentId: 'a' },
        { agentId: 'b', guards: { output: [...byJudge, block] } },
        { agentId: 'a' },
      ])
    },
    talk: saying('go'),
  },
  {
    name: 'parallel steps with one judge, and feedback to one of them',
    agents: (p) =>
      flow({ a: worker(p, 'a'), b: worker(p, 'b'), judge: judge(p) }, [
        { name: 'draft', agentId: 'a', guards: { output: byJudge } },
        {
          parallel: [
            { agentId: 'a', guards: { output: byJudge } },
            { agentId: 'b', guards: { output: byJudge } },
          ],
        },
        { approval: { question: 'Good?', onFeedback: 'draft' } },
      ]),
    talk: saying('go', 'shorter', 'yes'),
    unordered: ['judge'],
  },
  {
    name: 'a model of its own under guards',
    world: modelWorld(({ text }) => ({ says: `model(${text})`, gives: `model(${text})` })),
    agents: (p, w) => [
      model(p, w, {
        id: 'model',
        guards: { input: [marking(p, 'in')], output: ['secrets', marking(p, 'out')] },
      }),
    ],
    talk: saying('go'),
  },
]
