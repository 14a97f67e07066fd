import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Agent, defineAgent } from '../../src/agents/index.ts'
import { parseConfig } from '../../src/app/config/load.ts'
import { createRoster } from '../../src/app/roster.ts'
import type { JsonObject, Task } from '../../src/protocol/types.ts'
import { createServer, type Server } from '../../src/server/index.ts'

import { silent } from '../../src/shared/log.ts'
import { createMemoryStore } from '../../src/store/index.ts'
import type { LogRecord } from '../../src/store/store.ts'
import { defineTeam, defineWorkflow } from '../../src/team/index.ts'

let directory = ''
const closing: Server[] = []

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'corral-'))
  await writeFile(join(directory, 'a.mjs'), 'export default () => "from a"')
})

afterEach(async () => {
  for (const server of closing.splice(0)) await server.close()
  await rm(directory, { recursive: true })
})

/** The definition digest that tasks of each agent are stored with. */
async function buildsOf(agents: readonly Agent[]): Promise<readonly string[]> {
  const server = await createServer({ agents, logger: false })
  closing.push(server)
  return Promise.all(
    agents.map(async (agent) => {
      const { id } = await agent.info()
      const task = await send(server, { agent: id, text: 'hi' })
      return (await server.store.get(task.id))?.head.build ?? ''
    }),
  )
}

interface Sent {
  readonly agent?: string
  readonly text: string
  readonly taskId?: string
  /** Whether the answer may come later. */
  readonly soon?: true
}

let sent = 0

async function send(server: Server, { agent, text, taskId, soon }: Sent): Promise<Task> {
  const ids = { messageId: `m-${++sent}`, ...(taskId && { taskId }) }
  const message = { ...ids, role: 'ROLE_USER', parts: [{ text }] } as const
  const configuration = soon ? { returnImmediately: true } : {}
  const answer = await server.dispatch(agent)('SendMessage', { message, configuration }, {})
  if (!('task' in answer)) throw new Error('There is no task')
  return answer.task
}

const plain = (name: string, version?: string): Agent =>
  defineAgent({ name, ...(version && { version }) }, async function* (_message, turn) {
    yield turn.status('TASK_STATE_COMPLETED', 'done')
  })

const teamOf = (a: Agent, version?: string): Agent =>
  defineTeam({
    id: 'team',
    name: 'Team',
    ...(version && { version }),
    agents: { a },
    scheduler: { type: 'workflow', steps: [{ agentId: 'a' }] },
  })

const file = (agentVersion = '', teamVersion = ''): string => `
[[agents]]
id = "a"
name = "A"
endpoint = "./a.mjs"
protocol = "module"
${agentVersion && `version = "${agentVersion}"`}
[[teams]]
id = "inner"
name = "Inner"
description = ""
${teamVersion && `version = "${teamVersion}"`}
mode = "workflow"
agents = [{ agent_id = "a" }]
scheduler_config = { steps = [{ agent_id = "a" }] }
[[teams]]
id = "outer"
name = "Outer"
description = ""
mode = "workflow"
agents = [{ agent_id = "inner" }]
scheduler_config = { steps = [{ agent_id = "inner" }] }
`

/** Teams with all their keys, in another order than the reference has them. */
const everyKey = `[[agents]]
id = "a"
name = "A"
endpoint = "./a.mjs"
protocol = "module"

[[agents]]
id = "b"
name = "B"
endpoint = "./a.mjs"
protocol = "module"

[[teams]]
skills = [{ proficiency = "expert", name = "editing" }]
capability_details = [{ version = "2.0.0", description = "Writes", name = "writing" }]
provider = { url = "https://example.com", name = "Press" }
version = "1.2.3"
guards = { output = ["secrets"], input = [{ max = 8000, use = "length", action = "block" }, { use = "pattern", deny = "x", action = "replace" }] }
budget = { unknown = "fail", max_cost_usd = 1.5, max_tokens = 1000, max_seconds = 60, max_depth = 3, max_hops = 9, max_delegations = 90 }
agents = [{ capabilities = ["writing"], role = "lead", agent_id = "a" }, { agent_id = "b" }]
mode = "supervisor"
scheduler_config = { max_rounds = 4, supervisor_agent_id = "a", type = "supervisor" }
description = "d"
name = "Led"
id = "led"

[[teams]]
id = "routed"
name = "Routed"
description = "d"
mode = "router"
agents = [{ agent_id = "a" }, { agent_id = "b" }]
router_config = { max_routing_hops = 4, default_agent_id = "a" }

[[teams]]
id = "flow"
name = "Flow"
description = "d"
mode = "workflow"
budget = { max_seconds = 60 }
agents = [{ agent_id = "a" }, { agent_id = "b" }]

[teams.scheduler_config]
type = "workflow"

[[teams.scheduler_config.steps]]
fail_on = ["length"]
guards = { output = ["email"] }
max_output_retries = 1
output_schema = { type = "object" }
fallback_agent_id = "b"
max_retries = 2
max_task_seconds = 90
timeout_seconds = 30
input = "{{ question.text }}"
condition = "x"
order = 1
name = "first"
agent_id = "a"

[[teams.scheduler_config.steps]]
name = "both"
when = "true"
order = 2
join = "text"
parallel = [{ agent_id = "a" }, { input = "{{ question.text }}", agent_id = "b" }]

[[teams.scheduler_config.steps]]
order = 3
loop = { max_iterations = 3, until = "previous.text == 'x'", steps = [{ agent_id = "a" }] }

[[teams.scheduler_config.steps]]
order = 4
name = "each"
map = { max_items = 5, max_parallel = 2, over = "question.data", input = "{{ item }}", agent_id = "b" }

[[teams.scheduler_config.steps]]
order = 5
branch = [{ steps = [{ agent_id = "a" }], when = "true" }, { steps = [{ agent_id = "b" }] }]

[[teams.scheduler_config.steps]]
order = 6
approval = { max_feedback_rounds = 2, on_feedback = "first", question = "Good?" }
`

/** Inner, outer and a. */
async function inFile(...versions: string[]): Promise<readonly Agent[]> {
  return (await createRoster(parseConfig(file(...versions)), { directory })).agents
}

describe('the definition digest', () => {
  test('of what has no version is the one that tasks of earlier releases are stored with', async () => {
    expect(await buildsOf([plain('A'), teamOf(plain('A'))])).toEqual([
      '9972a5a7e7df8e66843b681c',
      'b4d0ef2b67e9c03464084d63',
    ])
    expect(await buildsOf(await inFile())).toEqual([
      'f0aa70bfe9b4b59e1ee00f89',
      'be6398fa8febdddb54651c4b',
      '9972a5a7e7df8e66843b681c',
    ])
    // These versions were part of it before.
    expect(await buildsOf([plain('A', '1.2.0'), teamOf(plain('A'), '1.2.0')])).toEqual([
      '5332a710da6763f3c99d7f48',
      '376f42d0e49bf8c14d94019b',
    ])
  })

  test('of a team with every key is the one that tasks of earlier releases are stored with', async () => {
    const { agents } = await createRoster(parseConfig(everyKey), { directory })
    expect(await buildsOf(agents)).toEqual([
      '9f33c70b83296e466908889a',
      '01c16264e94ea7008f494d6d',
      '0c2601757e9722de96300dfb',
      '9972a5a7e7df8e66843b681c',
      '243f64958c38bb43cda53725',
    ])
  })

  test('covers the version of every agent and team in a file, members of members too', async () => {
    const first = await buildsOf(await inFile('1.0.0'))
    expect(await buildsOf(await inFile('1.0.0'))).toEqual(first)
    expect(changedIn(first, await buildsOf(await inFile('1.0.1')))).toEqual([0, 1, 2])
    const team = await buildsOf(await inFile('1.0.0', '2.0.0'))
    expect(changedIn(first, team)).toEqual([0, 1])
    expect(changedIn(await buildsOf(await inFile()), first)).toEqual([0, 1, 2])
  })

  test('covers the version of functions, teams and workflows in a program', async () => {
    const workflow = (version: string): Agent =>
      defineWorkflow({
        id: 'flow',
        name: 'Flow',
        version,
        agents: { a: plain('A') },
        steps: (flow) => flow.step('only', { agentId: 'a' }),
      })
    const at = (version: string): readonly Agent[] => [
      plain('A', version),
      teamOf(plain('B', version)),
      workflow(version),
    ]
    const first = await buildsOf(at('1.0.0'))
    expect(changedIn(first, await buildsOf(at('1.0.1')))).toEqual([0, 1, 2])
    expect(changedIn(first, await buildsOf(at('1.0.0')))).toEqual([])
  })

  test('covers the version that a file gives to an agent with a definition of its own', async () => {
    const exported = `export default {
  definition: ['its own'],
  info: () => ({ id: 'x', name: 'X', description: '', capabilities: [], metadata: {} }),
  process: () => 'hi',
}`
    await writeFile(join(directory, 'a.mjs'), exported)
    const first = await buildsOf(await inFile('1.0.0'))
    expect(changedIn(first, await buildsOf(await inFile('1.0.1')))).toEqual([0, 1, 2])
  })

  test('does not cover code', async () => {
    const first = await buildsOf(await inFile('1.0.0'))
    await writeFile(join(directory, 'a.mjs'), 'export default () => "from another"')
    expect(await buildsOf(await inFile('1.0.0'))).toEqual(first)
  })
})

test('cards show the version of an agent in a file, and one that is none is an error', async () => {
  const infos = await Promise.all((await inFile('1.2.0')).map((one) => one.info()))
  expect(infos.find(({ id }) => id === 'a')?.details?.version).toBe('1.2.0')
  expect(() => parseConfig(file('soon'))).toThrow('semantic version')
})

/** Where two lists differ. */
function changedIn(before: readonly string[], after: readonly string[]): readonly number[] {
  return before.flatMap((build, index) => (build === after[index] ? [] : [index]))
}

describe('a task that continues with changed code', () => {
  const asking = (words: string): string => `import { helped } from './helper.mjs'
export default async function* (message, turn) {
  if (turn.task) yield \`${words} \${helped}\`
  else yield turn.ask('Which?')
}`

  /** What was warned about, in all servers. */
  const warned: unknown[] = []

  let store = createMemoryStore()

  beforeEach(async () => {
    store = createMemoryStore()
    warned.length = 0
    await writeFile(join(directory, 'a.mjs'), asking('old'))
    await writeFile(join(directory, 'helper.mjs'), 'export const helped = 1')
  })

  /** A server on the same tasks, as another process would start it. */
  async function open(toml = file()): Promise<Server> {
    for (const earlier of closing.splice(0)) await earlier.close()
    const { agents } = await createRoster(parseConfig(toml), { directory })
    const warn = (fields: object): void => void warned.push(fields)
    const logger = { ...silent, warn }
    const server = await createServer({ agents, store, logger, timeouts: { shutdownMs: 0 } })
    closing.push(server)
    await server.recover()
    return server
  }

  async function changesIn(server: Server, id: string): Promise<readonly JsonObject[]> {
    const records = await server.store.records(id, 0)
    const entries = records.flatMap((record) => (record.kind === 'trace' ? [record.entry] : []))
    return entries.filter(({ type }) => type === 'code-changed')
  }

  test('says so in its trace, and warns once', async () => {
    const first = await open()
    const ids = [1, 2].map(async () => (await send(first, { agent: 'outer', text: 'hi' })).id)
    const [one = '', two = ''] = await Promise.all(ids)
    await writeFile(join(directory, 'a.mjs'), asking('new'))
    const second = await open()
    await send(second, { agent: 'outer', text: 'this', taskId: one })
    await send(second, { agent: 'outer', text: 'that', taskId: two })
    const change = { type: 'code-changed', agent: 'a', before: hex, after: hex }
    expect(await changesIn(second, one)).toEqual([change])
    expect(await changesIn(second, two)).toEqual([change])
    expect(warned).toEqual([{ agent: 'a', taskId: one }])
  })

  test('counts what a module imports by a relative path', async () => {
    const first = await open()
    const { id } = await send(first, { text: 'hi' })
    await writeFile(join(directory, 'helper.mjs'), 'export const helped = 2')
    const second = await open()
    await send(second, { text: 'this', taskId: id })
    expect(warned).toEqual([{ agent: 'a', taskId: id }])
  })

  test('names the agents whose code has changed, and no others', async () => {
    await writeFile(join(directory, 'b.mjs'), 'export default () => "b"')
    const toml = `${file()}
[[agents]]
id = "b"
name = "B"
endpoint = "./b.mjs"
protocol = "module"
`.replaceAll(
      'agents = [{ agent_id = "inner" }]',
      'agents = [{ agent_id = "inner" }, { agent_id = "b" }]',
    )
    const first = await open(toml)
    const { id } = await send(first, { agent: 'outer', text: 'hi' })
    await writeFile(join(directory, 'b.mjs'), 'export default () => "new"')
    const second = await open(toml)
    await send(second, { agent: 'outer', text: 'this', taskId: id })
    expect((await changesIn(second, id)).map(({ agent }) => agent)).toEqual(['b'])
    expect(warned).toEqual([{ agent: 'b', taskId: id }])
  })

  test('does so too where its turn was interrupted', async () => {
    const hanging = (word: string): string => `export const resumable = true
export default async (message, turn) => {
  await turn.step('one', () => '${word}')
  if ('${word}' === 'old') await new Promise(() => {})
  return 'done'
}`
    await writeFile(join(directory, 'a.mjs'), hanging('old'))
    const first = await open()
    const { id } = await send(first, { text: 'hi', soon: true })
    await expect.poll(async () => stepsIn(await first.store.records(id, 0))).toBe(1)
    await writeFile(join(directory, 'a.mjs'), hanging('new'))
    const second = await open()
    await expect.poll(async () => (await second.store.get(id))?.head.state).toMatch('COMPLETED')
    expect(await changesIn(second, id)).toHaveLength(1)
    expect(warned).toContainEqual({ agent: 'a', taskId: id })
  })

  test('counts the files of guards', async () => {
    await writeFile(join(directory, 'guard.mjs'), 'export default () => ({ verdict: "allow" })')
    const rule = `{ input = [{ module = "./guard.mjs" }] }`
    const toml = file()
      .replace('id = "a"', `id = "a"\nguards = ${rule}`)
      .replace('id = "outer"', `id = "outer"\nguards = ${rule}`)
    const before = await digestsOf(toml)
    expect(Object.keys(before ?? {})).toEqual(['a', 'outer'])
    await writeFile(join(directory, 'guard.mjs'), 'export default () => ({ verdict: "block" })')
    const after = await digestsOf(toml)
    expect(Object.entries(after ?? {}).map(([id, digest]) => before?.[id] === digest)).toEqual([
      false,
      false,
    ])
  })

  test('warns of nothing where the code is the same, or the version is another one', async () => {
    const first = await open()
    const [one, two] = [await send(first, { text: 'a' }), await send(first, { text: 'b' })]
    const same = await open()
    await send(same, { text: 'this', taskId: one.id })
    await writeFile(join(directory, 'a.mjs'), asking('new'))
    const raised = await open(file('2.0.0'))
    await send(raised, { text: 'that', taskId: two.id })
    expect(await changesIn(raised, one.id)).toEqual([])
    expect(await changesIn(raised, two.id)).toEqual([])
    expect(warned).toEqual([])
  })
})

async function digestsOf(toml: string): Promise<Agent['codeDigests']> {
  const { manager } = await createRoster(parseConfig(toml), { directory })
  return manager.get('outer')?.codeDigests
}

const hex: string = expect.stringMatching(/^[0-9a-f]{16}$/)

function stepsIn(records: readonly LogRecord[]): number {
  return records.filter(({ kind }) => kind === 'step').length
}
