import type { Process, Scenario } from './explorer.ts'
import { asker, scripted, team, telling, worker } from './members.ts'

/** A member that leaves a value with the conversation. */
const setter = (p: Process, id: string, value: string) =>
  scripted(p, id, (text, turn) => {
    turn.context.set('mode', value)
    return `${id}(${text})`
  })

/** Steps that go by values of the conversation, which change while the run waits. */
export const contextRules: readonly Scenario[] = [
  {
    name: 'steps that go by values of the conversation',
    agents: (p) => [
      team(
        'flow',
        {
          first: setter(p, 'first', 'fast'),
          second: setter(p, 'second', 'slow'),
          quick: worker(p, 'quick'),
          careful: worker(p, 'careful'),
          asker: asker(p, 'asker'),
        },
        {
          type: 'workflow',
          steps: [
            { agentId: 'first' },
            { name: 'quick', agentId: 'quick', when: "context.mode == 'fast'" },
            { agentId: 'careful', when: "context.mode == 'slow'" },
            { agentId: 'asker' },
            { agentId: 'second' },
            {
              branch: [
                { when: "context.mode == 'fast'", steps: [{ agentId: 'quick' }] },
                {
                  steps: [
                    { name: 'slow', agentId: 'careful', input: 'in {{ context.mode }} mode' },
                    { approval: { question: 'Good?', onFeedback: 'slow' } },
                  ],
                },
              ],
            },
          ],
        },
      ),
    ],
    async talk(user) {
      for (const text of ['go', 'red', 'more', 'yes']) await user.say(text)
    },
  },
  {
    name: 'a function that goes by a value of the conversation',
    agents: (p) => [
      team(
        'flow',
        {
          first: setter(p, 'first', 'fast'),
          second: setter(p, 'second', 'slow'),
          asker: asker(p, 'asker'),
          end: telling(p, 'end', (text) => ({ says: `end(${text})`, gives: `end(${text})` })),
        },
        {
          type: 'workflow',
          steps: [
            { agentId: 'first' },
            {
              agentId: 'asker',
              when: async ({ context }) => {
                p.note('when', 'mode', '2?when = ')
                return (await context.get('mode')) === 'fast'
              },
            },
            { agentId: 'second' },
            {
              agentId: 'end',
              input: async ({ context, previous }) => {
                p.note('input', previous.text, 'in mode')
                return `${previous.text} in mode ${await context.get('mode')}`
              },
            },
          ],
        },
      ),
    ],
    async talk(user) {
      for (const text of ['go', 'red']) await user.say(text)
    },
  },
]
