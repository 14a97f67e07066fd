/**
 * What a hop costs, in a process of its own: `hop.ts <team|data|direct>`. A workflow of three local members, which may
 * pass data by rules and schemas, or one agent that calls the same three functions, behind the same operations. Told how
 * many messages, tells the CPU time of each.
 */
import type { Agent } from '../../src/agents/agent.ts'
import type { Message, Part } from '../../src/protocol/types.ts'
import { dist } from '../processes.ts'

const { defineAgent } = await dist<typeof import('../../src/agents/index.ts')>('agents')
const { defineTeam } = await dist<typeof import('../../src/team/index.ts')>('team')
const { createServer } = await dist<typeof import('../../src/server/index.ts')>('server')

const work = ['a', 'b', 'c'].map((letter) => (text: string) => `${text}${letter}`)
const sides = { team: createTeam, data: createDataTeam, direct: createDirect }
const agent = sides[process.argv[2] as keyof typeof sides]() // as the case says it
const server = await createServer({ agents: [agent] })
const dispatch = server.dispatch()

process.on('message', (messages: number) => {
  void run(messages).then((cpuMicros) => process.send?.({ cpuMicros }))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })

async function run(messages: number): Promise<number> {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello ' }] } as const
  const before = process.cpuUsage()
  for (let i = 0; i < messages; i++) {
    const answer = await dispatch('SendMessage', { message }, {})
    const part = 'task' in answer && answer.task.artifacts?.[0]?.parts[0]
    if (!part || wordsOf(part) !== 'hello abc') throw new Error('A wrong answer')
    // Answers arrive within microtasks; the loop must turn as it does under a real load.
    if (i % 32 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / messages
}

function createTeam(): Agent {
  const members = work.map((step) => defineAgent({ name: 'Member' }, (m) => step(textOf(m))))
  const agents = Object.fromEntries(members.map((member, i) => [`member-${i}`, member]))
  const steps = Object.keys(agents).map((agentId) => ({ agentId }))
  return defineTeam({ id: 'team', name: 'Team', agents, scheduler: { type: 'workflow', steps } })
}

/** Every step has a name, a condition over the data before it, a template, and a schema that its answer must fit. */
function createDataTeam(): Agent {
  const outputSchema = {
    type: 'object',
    required: ['text', 'round'],
    properties: { text: { type: 'string' }, round: { type: 'integer', minimum: 0 } },
  } as const
  const members = work.map((step, round) =>
    defineAgent({ name: 'Member' }, (message, turn) =>
      turn.reply([{ data: { text: step(textOf(message)), round } }]),
    ),
  )
  const agents = Object.fromEntries(members.map((member, i) => [`member-${i}`, member]))
  const steps = Object.keys(agents).map((agentId, i) => ({
    name: `step${i}`,
    agentId,
    outputSchema,
    ...(i > 0 && {
      when: `steps.step${i - 1}.data.round == ${i - 1} && previous.data.text.startsWith('hello')`,
      input: '{{ previous.data.text }}',
    }),
  }))
  return defineTeam({ id: 'team', name: 'Team', agents, scheduler: { type: 'workflow', steps } })
}

function createDirect(): Agent {
  return defineAgent({ name: 'Direct' }, (message) =>
    work.reduce((text, step) => step(text), textOf(message)),
  )
}

function textOf({ parts }: Message): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}

function wordsOf(part: Part): unknown {
  if ('text' in part) return part.text
  return 'data' in part && Object(part.data).text
}
