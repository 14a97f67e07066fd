import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Step, StepScope } from '../../src/team/config.ts'
import { patiently } from '../support/limits.ts'
import { type CrashPoint, type Process, play, type Scenario } from './explorer/explorer.ts'
import { asker, scripted, team } from './explorer/members.ts'

/** A step of a random workflow, before its names are given. */
type Sketch =
  | { readonly kind: 'agent' | 'asker' | 'data' | 'function' | 'approval'; readonly rule: number }
  | { readonly kind: 'parallel' | 'branch' | 'loop' | 'map'; readonly inner: readonly Sketch[] }

const { sketch } = fc.letrec<{ sketch: Sketch; list: readonly Sketch[] }>((tie) => ({
  sketch: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    fc.record({
      kind: fc.constantFrom('agent', 'asker', 'data', 'function', 'approval'),
      rule: fc.nat(2),
    }) as fc.Arbitrary<Sketch>, // of these kinds
    fc.record({
      kind: fc.constantFrom('parallel', 'branch', 'loop', 'map'),
      inner: tie('list'),
    }) as fc.Arbitrary<Sketch>, // of these kinds
  ),
  list: fc.array(tie('sketch'), { minLength: 1, maxLength: 2 }),
}))

const workflowOf = fc.array(sketch, { minLength: 1, maxLength: 3 })

/** Makes steps of sketches: each has a name, looks at one before it, and feedback goes to the first of its list. */
function toSteps(sketches: readonly Sketch[], path: string): readonly Step[] {
  return sketches.map((one, index) =>
    toStep(one, `${path}${index + 1}`, index > 0 ? `${path}1` : undefined),
  )
}

function toStep(one: Sketch, name: string, first: string | undefined): Step {
  if ('inner' in one) return { name, ...around(one, name) }
  if (one.kind === 'approval') {
    const target = first !== undefined && { onFeedback: first, maxFeedbackRounds: 2 }
    // Nothing works anew in an approval, so that the first step of a list is none.
    if (first === undefined) return { name, agentId: 'agent' }
    return { approval: { question: `${name}?`, ...target } }
  }
  const when = first && one.rule === 1 ? { when: `size(steps.${first}.text) % 2 == 0` } : {}
  const input = first && one.rule === 2 ? { input: `{{ steps.${first}.text }}:{{ feedback }}` } : {}
  if (one.kind !== 'function') return { name, agentId: one.kind, ...when, ...input }
  return {
    name,
    agentId: 'agent',
    when: ({ previous }: StepScope) => previous.text.length % 3 > 0,
    input: ({ question, previous }: StepScope) => `${question.text} ${previous.text.length}`,
  }
}

function around({ kind, inner }: Extract<Sketch, { readonly inner: unknown }>, name: string): Step {
  const steps = toSteps(inner, `${name}_`)
  if (kind === 'parallel')
    return {
      parallel: steps.map((step) => ({ branch: [{ steps: [withoutFeedback(step)] }] })),
      join: '{{ previous.text }}.',
    }
  if (kind === 'branch')
    return {
      branch: [
        { when: 'size(previous.text) % 2 == 1', steps },
        { steps: [{ agentId: 'agent' }, ...toSteps(inner, `${name}_else`)] },
      ],
    }
  if (kind === 'loop')
    return { loop: { steps, until: 'size(previous.text) > 20', maxIterations: 2 } }
  return { map: { over: '["x", question.text]', steps, maxParallel: 1 } }
}

/** Parallel steps have no earlier ones that they could name. */
function withoutFeedback(step: Step): Step {
  return 'approval' in step
    ? { approval: { question: step.approval.question } }
    : withoutRules(step)
}

function withoutRules(step: Step): Step {
  return 'agentId' in step && typeof step.when !== 'function' ? { agentId: step.agentId } : step
}

const scenarioOf = (sketches: readonly Sketch[]): Scenario => ({
  name: 'random',
  agents: (p: Process) => [
    team(
      'flow',
      {
        // It may be asked the same by several steps.
        agent: scripted(p, 'agent', (text) => `agent(${text})`),
        asker: asker(p, 'asker'),
        data: scripted(p, 'data', (text, turn) => turn.reply([{ data: { length: text.length } }])),
      },
      { type: 'workflow', steps: toSteps(sketches, 's') },
    ),
  ],
  async talk(user) {
    let task = await user.say('go')
    for (let turn = 0; task.status.state === 'TASK_STATE_INPUT_REQUIRED' && turn < 12; turn++)
      task = await user.say(['change it', 'yes', 'blue', 'ok'][turn % 4] ?? '')
  },
})

describe('a random workflow', () => {
  test('that is interrupted anywhere gives the same answer and trace as one that is not', {
    timeout: patiently(300_000),
  }, async () => {
    await fc.assert(
      fc.asyncProperty(workflowOf, fc.nat(), fc.boolean(), async (sketches, place, isBefore) => {
        const scenario = scenarioOf(sketches)
        const plain = await play(scenario, createMemoryStore())
        const commit = 1 + (place % Math.max(plain.commits[0] ?? 1, 1))
        const crash: CrashPoint = { commit, kind: isBefore ? 'dieBefore' : 'dieAfter' }
        const crashed = await play(scenario, createMemoryStore(), [crash])
        const seen = ({ state, answer, words, stops, history, trace, faults }: typeof plain) => ({
          ...{ state, answer, words, stops, history, faults },
          trace: [...trace].sort(),
        })
        expect(seen(crashed)).toEqual(seen(plain))
      }),
      { numRuns: 60, seed: 15 },
    )
  })
})
