import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { loadConfig, parseConfig } from '../../src/app/config/load.ts'
import { createRoster, createTeamFromConfig, type Roster } from '../../src/app/roster.ts'
import { runTeam } from '../../src/app/run-team.ts'
import { watchConfig } from '../../src/app/watch.ts'
import { userMessage } from '../../src/protocol/task.ts'
import { createServer } from '../../src/server/index.ts'
import { openSqliteStore } from '../../src/store/index.ts'
import { openModelServer } from '../../src/testing/model-server.ts'

let directory = ''

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'corral-'))
  await mkdir(join(directory, 'guards'))
  await writeFile(join(directory, 'echo.mjs'), 'export default (m) => m.parts[0].text')
  await writeFile(
    join(directory, 'judge.mjs'),
    'export default (m) => m.parts[0].text.includes("rude") ? "block: be polite" : "allow"',
  )
  await writeFile(join(directory, 'guards', 'tone.mjs'), tone('quiet'))
  return () => rm(directory, { recursive: true })
})

const tone = (word: string): string =>
  `export default ({ text }) => ({ verdict: 'replace', text: '${word} ' + text.toLowerCase() })`

const agents = (guards: string, more = ''): string => `
[[agents]]
id = "echo"
name = "Echo"
endpoint = "./echo.mjs"
protocol = "module"
${guards}
[[agents]]
id = "judge"
name = "Judge"
endpoint = "./judge.mjs"
protocol = "module"
${more}`

const team = (guards: string, step = ''): string => `
${agents('')}
[[teams]]
id = "team"
name = "Team"
description = "A team"
mode = "workflow"
agents = [{ agent_id = "echo" }, { agent_id = "judge" }]
${guards}
[[teams.scheduler_config.steps]]
agent_id = "echo"
${step}`

async function write(text: string): Promise<string> {
  const path = join(directory, 'corral.toml')
  await writeFile(path, text)
  return path
}

const key = 'sk-abcd1234efgh5678ijkl9012mnop3456'

describe('guards of a file', () => {
  const lists =
    'output = ["secrets", { use = "length", max = 60 }, { member = "judge" }, { module = "./guards/tone.mjs" }]'

  test.each([
    ['an agent', agents(`[agents.guards]\n${lists}`), 'echo'],
    ['a team', team(`[teams.guards]\n${lists}`), 'team'],
    ['a step', team('', `[teams.scheduler_config.steps.guards]\n${lists}`), 'team'],
  ])('stand around %s', async (_what, text, id) => {
    const path = await write(text)
    const options = { logger: false, team: id } as const
    expect((await runTeam(path, `HELLO ${key}`, options)).text).toBe('quiet hello [secret removed]')
    const rude = await runTeam(path, 'rude', options)
    expect(rude.state).toBe('TASK_STATE_FAILED')
    expect(rude.text).toBe('The answer was blocked by the guard judge: be polite')
    const long = await runTeam(path, 'x'.repeat(61), options)
    expect(long.text).toContain('at most 60 are allowed')
    const judged = long.trace.filter(({ type }) => type === 'guard').at(-1)
    expect(judged).toMatchObject({ guard: 'length', verdict: 'block' })
  })

  test('a module is told to callers by its name, not by its place', async () => {
    const code = `export default () => ({ verdict: 'block', reason: 'no' })`
    await writeFile(join(directory, 'guards', 'strict.mjs'), code)
    const guards = '[agents.guards]\ninput = [{ module = "./guards/strict.mjs" }]'
    const options = { logger: false, team: 'echo' } as const
    const { text, trace } = await runTeam(await write(agents(guards)), 'hi', options)
    expect(text).toBe('The message was blocked by the guard strict: no')
    expect(trace.at(-1)).toMatchObject({ type: 'guard', guard: 'strict', verdict: 'block' })
  })

  test('a model as a judge is told by a schema how to answer', async () => {
    const verdict = '{"verdict":"replace","text":"a better draft"}'
    const models = await openModelServer(({ model: name }) =>
      name === 'judge' ? verdict : 'a draft',
    )
    onTestFinished(() => models.close())
    const model = (id: string, guards = ''): string => `
[[agents]]
id = "${id}"
name = "${id}"
endpoint = "${models.url}"
protocol = "openai"
metadata = { api_key = "k" }
model = { name = "${id}" }
${guards}`
    const guards = '[agents.guards]\noutput = [{ member = "judge" }]'
    const path = await write(`${model('writer', guards)}\n${model('judge')}`)
    const result = await runTeam(path, 'write', { logger: false, team: 'writer' })
    expect(result.text).toBe('a better draft')
    const asked = models.requests.find(({ model: name }) => name === 'judge')
    expect(JSON.stringify(asked?.messages)).toContain('a draft')
    expect(JSON.stringify(asked)).toContain('"enum":["allow","replace","block"]')
  })

  test('a schema may stand in a file of its own', async () => {
    await writeFile(join(directory, 'schema.json'), '{"type":"object","required":["a"]}')
    const guard = '{ use = "json-schema", schema = "./schema.json" }'
    const path = await write(agents(`[agents.guards]\noutput = [${guard}]`))
    const options = { logger: false, team: 'echo' } as const
    expect((await runTeam(path, '{"a":1}', options)).text).toBe('{"a":1}')
    expect((await runTeam(path, '{"b":1}', options)).text).toContain('it.a is missing')
    expect((await runTeam(path, 'prose', options)).text).toContain('it is no JSON')
    const missing = await write(
      agents(`[agents.guards]\noutput = [${guard.replace('./', './no')}]`),
    )
    await expect(loadConfig(missing, {})).rejects.toThrow(
      /corral.toml:8:\d+: the schema .* there is none/,
    )
  })

  test('a team that is made alone has the agents that its members ask', async () => {
    const text = `${agents('[agents.guards]\noutput = [{ member = "judge" }]')}
[[teams]]
id = "team"
name = "Team"
description = "A team"
mode = "workflow"
agents = [{ agent_id = "echo" }]
[[teams.scheduler_config.steps]]
agent_id = "echo"`
    const config = await loadConfig(await write(text), {})
    const made = await createTeamFromConfig(config, 'team', { directory })
    onTestFinished(() => made.manager.close())
    expect((await runTeam(made, 'rude', { logger: false })).text).toContain('be polite')
  })

  test('an agent of the file is not asked again about the same content after a crash', async () => {
    await writeFile(
      join(directory, 'echo.mjs'),
      `export const resumable = true
       export default (m, turn) => {
         globalThis.guardedTurns.push(turn.attempt)
         return globalThis.guardedTurns.length > 1 ? 'done' : new Promise(() => {})
       }`,
    )
    await writeFile(
      join(directory, 'judge.mjs'),
      'export default () => { globalThis.judgeCalls++; return "allow" }',
    )
    const counts = { guardedTurns: [] as number[], judgeCalls: 0 }
    Object.assign(globalThis, counts)
    const path = await write(agents('[agents.guards]\ninput = [{ member = "judge" }]'))
    const open = async () => {
      const roster = await createRoster(await loadConfig(path, {}), { directory })
      const store = await openSqliteStore(join(directory, 'tasks.db'))
      const timeouts = { shutdownMs: 0 }
      const server = await createServer({ agents: roster.agents, store, timeouts, logger: false })
      const shut = async (): Promise<void> => {
        await server.close()
        await store.close()
        await roster.close()
      }
      return { server, shut }
    }
    const before = await open()
    const request = { message: userMessage('x'), configuration: { returnImmediately: true } }
    const answer = await before.server.dispatch('echo')('SendMessage', request, {})
    const id = 'task' in answer ? answer.task.id : ''
    await expect.poll(() => counts.guardedTurns.length).toBe(1)
    await before.shut()
    const after = await open()
    await after.server.recover()
    const read = () => after.server.dispatch('echo')('GetTask', { id }, {})
    await expect.poll(async () => (await read()).status.state).toBe('TASK_STATE_COMPLETED')
    await after.shut()
    expect(counts.guardedTurns).toHaveLength(2)
    expect(Reflect.get(globalThis, 'judgeCalls')).toBe(1)
  })

  test('a module that has changed is loaded anew', async () => {
    const path = await write(agents('[agents.guards]\noutput = [{ module = "./guards/tone.mjs" }]'))
    const rosters: Roster[] = []
    const config = await loadConfig(path, {})
    const stop = watchConfig(path, config, {
      env: {},
      deps: { directory },
      onRoster: (roster) => void rosters.push(roster),
      onError: (error) => {
        throw error
      },
    })
    onTestFinished(stop)
    await writeFile(join(directory, 'guards', 'tone.mjs'), tone('very quiet'))
    await expect.poll(() => rosters.length).toBeGreaterThan(0)
    const agent = rosters.at(-1)?.manager.get('echo')
    if (!agent) throw new Error('no agent')
    expect((await runTeam(agent, 'HELLO', { logger: false })).text).toBe('very quiet hello')
  })
})

describe('wrong guards of a file are told with line and column', () => {
  const ofAgent = (list: string): string => agents(`[agents.guards]\n${list}`)
  const ofTeam = (list: string): string => team(`[teams.guards]\n${list}`)
  const ofStep = (list: string): string => team('', `guards = { ${list} }`)

  test.each<[string, string, string]>([
    ['output = ["secret"]', 'names no guard: secret', 'did you mean secrets?'],
    ['output = ["secrets", { use = "lenght", max = 1 }]', 'names no guard: lenght', 'length?'],
    ['output = [{ use = "length", maxx = 1 }]', 'no setting of the guard length', 'max?'],
    ['output = [{ use = "length" }]', 'needs max or min', ''],
    ['output = [{ use = "length", max = -1 }]', 'must be a whole number', ''],
    ['output = [{ use = "length", max = 1, min = 2 }]', 'must not be more than max', ''],
    ['output = [{ use = "length", min = 2, action = "replace" }]', 'replace needs max', ''],
    ['output = [{ use = "email", action = "hide" }]', 'must be block or replace', ''],
    ['output = [{ use = "json-schema", schema = { type = "objekt" } }]', 'cannot be used', ''],
    ['output = [{ use = "json-schema" }]', 'is missing', ''],
    ['output = [{ member = "judge", module = "./x.mjs" }]', 'must be a name, a function', ''],
    ['output = [{ member = "jugde" }]', 'jugde', 'did you mean judge?'],
    ['output = [{ use = "pattern" }]', 'needs deny or require', ''],
    ['output = [{ use = "pattern", deny = "a", require = "b" }]', 'needs deny or require', ''],
    ['output = [{ use = "pattern", deny = "(a" }]', 'cannot be used', ''],
    ['output = [{ use = "pattern", deny = "(?=a)b" }]', 'cannot be used', ''],
    ['output = [{ use = "pattern", deny = "(a)\\\\1" }]', 'cannot be used', ''],
    ['output = [{ use = "pattern", require = "a", action = "replace" }]', 'needs deny', ''],
    ['output = [{}]', 'must be a name, a function', ''],
    ['output = [1]', 'must be a name, a function', ''],
    ['output = [{ member = "" }]', 'must be a text', ''],
  ])('%s', (list, reason, hint) => {
    for (const make of [ofAgent, ofTeam, ofStep]) {
      const text = make(list)
      const line = text.split('\n').findIndex((one) => one.includes(list)) + 1
      expect(() => parseConfig(text)).toThrow(new RegExp(`corral.toml:${line}:\\d+: `))
      expect(() => parseConfig(text)).toThrow(reason)
      if (hint !== '') expect(() => parseConfig(text)).toThrow(hint)
    }
  })

  test.each([
    ['a pattern', `output = [{ use = "pattern", deny = 'ok(?=b)' }]`, '(?='],
    ['an escape in a pattern', 'output = [{ use = "pattern", require = "\\t\\"\\\\k" }]', '\\\\k'],
    [
      'a schema',
      `output = [{ use = "json-schema", schema.properties.aB.pattern = 'x[' }]`,
      `[' }]`,
    ],
  ])('points into %s', (_what, list, wrong) => {
    for (const make of [ofAgent, ofTeam, ofStep]) {
      const text = make(list)
      const lines = text.split('\n')
      const line = lines.findIndex((one) => one.includes(list))
      const column = (lines[line]?.lastIndexOf(wrong) ?? 0) + 1
      expect(() => parseConfig(text)).toThrow(`corral.toml:${line + 1}:${column}: `)
    }
  })

  test('points at the very guard', () => {
    const text = ofAgent('output = ["secrets", { use = "length", maxx = 1 }]')
    const at =
      text
        .split('\n')
        .find((line) => line.includes('maxx'))
        ?.indexOf('maxx') ?? 0
    expect(() => parseConfig(text)).toThrow(`:${at + 1}: `)
  })

  test('an unknown side', () => {
    expect(() => parseConfig(ofAgent('outputs = ["secrets"]'))).toThrow('did you mean output?')
  })

  test('a judge that is judged by whom it judges, also by way of a team', () => {
    const itself = ofAgent('output = [{ member = "echo" }]')
    expect(() => parseConfig(itself)).toThrow(/"echo" cannot be judged by itself \(echo > echo\)/)
    const mutual = agents(
      '[agents.guards]\noutput = [{ member = "judge" }]',
      '[agents.guards]\ninput = [{ member = "echo" }]',
    )
    expect(() => parseConfig(mutual)).toThrow('(echo > judge > echo)')
    const byTeam = team('').replace(
      'protocol = "module"\n',
      'protocol = "module"\n[agents.guards]\noutput = [{ member = "team" }]\n',
    )
    expect(() => parseConfig(byTeam)).toThrow('(echo > team > echo)')
  })

  test.each([
    ['an agent', ofAgent],
    ['a team', ofTeam],
    ['a step', ofStep],
  ])('a module of %s that is not there, or is no guard', async (_what, make) => {
    await writeFile(join(directory, 'guards', 'none.mjs'), 'export const x = 1')
    for (const [file, reason] of [
      ['./guards/missing.mjs', 'there is no such file'],
      ['./guards/none.mjs', 'its default export is no function'],
    ] as const) {
      const path = await write(make(`output = [{ module = "${file}" }]`))
      const config = await loadConfig(path, {})
      const made = createRoster(config, { directory })
      await expect(made).rejects.toThrow(reason)
      await expect(made).rejects.toThrow(/corral\.toml:\d{1,3}:\d{2,3}: /)
    }
  })
})
