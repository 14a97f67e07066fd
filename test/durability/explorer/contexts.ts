import type { ContextValues } from '../../../src/agents/agent.ts'
import type { Process, Scenario } from './explorer.ts'
import { asker, chain, scripted, team, telling, worker } from './members.ts'

/** A member that leaves a value with the conversation. */
const setter = (p: Process, id: string, value: string) =>
  scripted(p, id, (text, turn) => {
    turn.context.set('mode', value)
    return `${id}(${text})`
  })

/** A member that counts its calls in the conversation, and has something stored before it ends. */
const counter = (p: Process, id: string) =>
  scripted(p, id, async (text, turn) => {
    await countIn(turn.context, id)
    await turn.save('counted', true)
    return `${id}(${text})`
  })

/** A member that tells what others have counted. */
const teller = (p: Process, ...counted: readonly string[]) =>
  scripted(p, 'teller', async (_text, turn) => {
    const counts = counted.map(async (id) => `${id} ${await turn.context.get(id)}`)
    return `counted ${(await Promise.all(counts)).join(', ')}`
  })

async function countIn(values: ContextValues, key: string): Promise<void> {
  values.set(key, Number((await values.get(key)) ?? 0) + 1)
}

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

/** Values that members and steps count in: whatever dies, each is counted once. */
export const contextCounts: readonly Scenario[] = [
  {
    name: 'members that count in the conversation, also at once and in a team within',
    agents: (p) => [
      team(
        'flow',
        {
          first: counter(p, 'first'),
          left: counter(p, 'left'),
          right: counter(p, 'right'),
          inner: chain('inner', { deep: counter(p, 'deep'), deeper: counter(p, 'deeper') }),
          teller: teller(p, 'first', 'left', 'right', 'deep', 'deeper'),
        },
        {
          type: 'workflow',
          steps: [
            { agentId: 'first' },
            { parallel: [{ agentId: 'left' }, { agentId: 'right' }, { agentId: 'inner' }] },
            { agentId: 'teller' },
          ],
        },
      ),
    ],
    talk: (user) => user.say('go'),
  },
  {
    name: 'an agent whose steps count in the conversation',
    agents: (p) => [
      scripted(p, 'counting', async (_text, turn) => {
        await turn.step('alone', async () => {
          await countIn(turn.context, 'alone')
          await turn.save('counted', true)
          return turn.step('within', async () => {
            await countIn(turn.context, 'within')
            await turn.save('counted', true)
            return 'ok'
          })
        })
        const atOnce = ['left', 'right'].map((name) =>
          turn.step(name, async (values) => {
            await countIn(values, name)
            await turn.save('counted', true)
            return 'ok'
          }),
        )
        await Promise.all(atOnce)
        const names = ['alone', 'within', 'left', 'right']
        const counts = names.map(async (name) => `${name} ${await turn.context.get(name)}`)
        return `counted ${(await Promise.all(counts)).join(', ')}`
      }),
    ],
    talk: (user) => user.say('go'),
  },
]
