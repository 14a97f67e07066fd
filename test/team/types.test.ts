import { describe, expect, test } from 'vitest'
import { messagesOf } from './compiler.ts'

const typo = `Type '"wrtier"' is not assignable to type '"editor" | "writer"'. Did you mean '"writer"'?`

/** Schedulers of a team of `writer` and `editor`, each with what the compiler says of it. */
const schedulers: Readonly<Record<string, readonly [code: string, says?: string]>> = {
  'a step of a workflow': [`{ type: 'workflow', steps: [{ agentId: 'wrtier' }] }`, typo],
  'a step of a type with a capital': [`{ type: 'Workflow', steps: [{ agentId: 'wrtier' }] }`, typo],
  'a branch': [`{ type: 'workflow', steps: [{ parallel: [{ agentId: 'wrtier' }] }] }`, typo],
  'a step of a loop': [
    `{ type: 'workflow', steps: [{ loop: { until: 'x', maxIterations: 2, steps: [{ agentId: 'wrtier' }] } }] }`,
    typo,
  ],
  'a branch of a loop': [
    `{ type: 'workflow', steps: [{ loop: { until: 'x', maxIterations: 2, steps: [{ parallel: [{ agentId: 'wrtier' }] }] } }] }`,
    typo,
  ],
  'who answers for each item': [
    `{ type: 'workflow', steps: [{ map: { agentId: 'wrtier' } }] }`,
    typo,
  ],
  'a fallback': [
    `{ type: 'workflow', steps: [{ agentId: 'editor', fallbackAgentId: 'wrtier' }] }`,
    typo,
  ],
  'a supervisor': [`{ type: 'supervisor', supervisorAgentId: 'wrtier' }`, typo],
  'a default agent': [`{ type: 'router', defaultAgentId: 'wrtier' }`, typo],
  'an id that only the program knows': [
    `{ type: 'router', defaultAgentId: process.title }`,
    `Type 'string' is not assignable to type '"editor" | "writer"'.`,
  ],
  'a misspelt key of a step': [
    `{ type: 'workflow', steps: [{ agentID: 'writer' }] }`,
    `Object literal may only specify known properties, and 'agentID' does not exist in type 'Step<"editor" | "writer">'.`,
  ],
  'a key that no step has': [
    `{ type: 'workflow', steps: [{ agentId: 'writer', timeout: 3 }] }`,
    `Object literal may only specify known properties, and 'timeout' does not exist in type 'Step<"editor" | "writer">'.`,
  ],
  'a text for a number': [
    `{ type: 'workflow', steps: [{ agentId: 'writer', timeoutSeconds: '3' }] }`,
    `Type 'string' is not assignable to type 'number'.`,
  ],
  'a loop without an end': [
    `{ type: 'workflow', steps: [{ loop: { steps: [] } }] }`,
    `Type '{ steps: []; }' is missing the following properties from type 'LoopRules<"editor" | "writer">': until, maxIterations`,
  ],
  'a workflow without steps': [
    `{ type: 'workflow', step: [{ agentId: 'writer' }] }`,
    `Object literal may only specify known properties, but 'step' does not exist in type 'WorkflowConfig<"editor" | "writer">'. Did you mean to write 'steps'?`,
  ],
  'a misspelt type': [
    `{ type: 'workflw', steps: [] }`,
    `Type '"workflw"' is not assignable to type '"Router" | "Supervisor" | "Workflow" | "own" | "router" | "supervisor" | "workflow"'. Did you mean '"workflow"'?`,
  ],
  'members that there are': [
    `{ type: 'workflow', steps: [{ agentId: 'writer', fallbackAgentId: 'editor' }, { parallel: [{ agentId: 'editor' }] }] }`,
  ],
  'a scheduler of its own': [`own({ any: 'wrtier' })`],
}

const head = `import { defineAgent } from 'corral/agents'
import { defineScheduler, defineTeam } from 'corral/team'
const answer = defineAgent({ name: 'Answer' }, () => 'x')
const agents = { writer: answer, editor: () => 'edited' }
const own = defineScheduler<object>({ type: 'mine', create: () => ({ schedule: async (run) => run.reply('') }) })
defineTeam({ id: 't', name: 't', agents: { a: (message, turn) => turn.reply(message.parts), b: answer }, scheduler: { type: 'router', defaultAgentId: 'a' } })
const found: Record<string, typeof answer> = {}
const scheduler = { type: 'router', defaultAgentId: process.title } as const
defineTeam({ id: 't', name: 't', agents: found, scheduler })`

const said = await messagesOf(
  head,
  Object.values(schedulers).map(
    ([code]) => `defineTeam({ id: 't', name: 't', agents, scheduler: ${code} })`,
  ),
)

describe('the compiler says of a team', () => {
  test.each(Object.keys(schedulers).map((name, index) => [name, index] as const))(
    '%s',
    (name, index) => {
      expect(said.ofLines[index]).toBe(schedulers[name]?.[1])
    },
  )

  test('nothing more', () => {
    expect(said.ofHead).toEqual([])
  })
})
