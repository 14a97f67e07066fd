import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/app/config/load.ts'
import { createRoster, type Roster } from '../../src/app/roster.ts'
import { watchConfig } from '../../src/app/watch.ts'
import { textOf } from '../../src/protocol/task.ts'
import { type ModelScript, type ModelServer, openModelServer } from '../../src/testing/index.ts'
import { createTurn, foldEvents, runTurn } from '../fixtures/turn.ts'

let directory = ''
const closing: (() => Promise<void> | void)[] = []

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'corral-tools-'))
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  await rm(directory, { recursive: true })
})

const source = pathToFileURL(join(import.meta.dirname, '../../src/agents/tools.ts')).href
const tool = (name: string, more = ''): string =>
  `{ name: '${name}', description: 'Does ${name}', input: { type: 'object', properties: { city: { type: 'string' } } }, ${more} execute: ({ city }) => '${name} ' + city }`
const write = (name: string, text: string): Promise<void> => writeFile(join(directory, name), text)

/** A model with these lines below its own. */
async function config(lines: string, script: ModelScript = ['Hi.']) {
  const model = await openModelServer(script)
  closing.push(model.close)
  await write(
    'corral.toml',
    `[[agents]]\nid = "m"\nname = "M"\nendpoint = "${model.url}"\nprotocol = "openai"\nmetadata = { api_key = "k", model = "gpt" }\n${lines}\n`,
  )
  return model
}

async function roster(): Promise<Roster> {
  const loaded = await loadConfig(join(directory, 'corral.toml'), {})
  const made = await createRoster(loaded, { directory })
  closing.push(() => made.close())
  return made
}

const problem = (): Promise<string> =>
  roster().then(
    () => 'none',
    (error: Error) => error.message.replace(directory, '.'),
  )

async function offered(model: ModelServer, made: Roster): Promise<readonly string[] | undefined> {
  const [agent] = made.agents
  if (agent) await runTurn(agent, createTurn('hi'))
  return model.requests.at(-1)?.tools?.map((one) => one.function.name)
}

const module = (file: string, more = ''): string =>
  `[[agents.tools]]\nmodule = "./${file}"\n${more}`

describe('a model has the tools of a file', () => {
  test.each([
    ['one', `export default ${tool('a')}`, ['a']],
    ['a list', `export default [${tool('a')}, ${tool('b')}]`, ['a', 'b']],
    [
      'several under names, and what is no tool besides',
      `export const a = ${tool('a')}\nexport const b = ${tool('b')}\nexport const help = () => 1\nexport const n = 3`,
      ['a', 'b'],
    ],
    ['one that is exported twice', `export const a = ${tool('a')}\nexport default a`, ['a']],
    [
      'one that is defined',
      `import { defineTool } from '${source}'\nexport default defineTool(${tool('a')})`,
      ['a'],
    ],
    [
      'one with parameters',
      `export default { name: 'a', description: 'A', parameters: { type: 'object' }, execute: () => 1 }`,
      ['a'],
    ],
  ])('%s', async (_, text, names) => {
    await write('tools.mjs', text)
    const model = await config(module('tools.mjs'))
    expect(await offered(model, await roster())).toEqual(names)
  })

  test('and they run', async () => {
    await write('tools.mjs', `export default ${tool('weather')}`)
    const script = [{ tools: [{ name: 'weather', arguments: { city: 'Oslo' } }] }, 'Clear.']
    const model = await config(module('tools.mjs'), script)
    const [agent] = (await roster()).agents
    const turn = createTurn('hi')
    if (agent) await runTurn(agent, turn)
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ content: 'weather Oslo' })
  })

  test.each([
    ['true', 'all'],
    ['["a"]', 'those named'],
  ])('and is asked about %s: %s', async (approval) => {
    await write('tools.mjs', `export default [${tool('a')}, ${tool('b')}]`)
    const calls = ['a', 'b'].map((name) => ({ name, arguments: { city: name } }))
    const model = await config(module('tools.mjs', `approval = ${approval}`), [{ tools: calls }])
    const [agent] = (await roster()).agents
    const turn = createTurn('hi')
    const task = agent && foldEvents(turn, await runTurn(agent, turn))
    expect(task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(textOf(task?.status.message?.parts ?? [])).toContain('M wants to run the tool a with:')
    const done = turn.traces.filter(({ type }) => type === 'tool').map((entry) => entry.tool)
    expect(done).toEqual(approval === 'true' ? [] : ['b'])
    expect(model.requests).toHaveLength(1)
  })
})

describe('a file of tools that cannot be used is refused with its place', () => {
  test.each([
    ['export default 3', 'it exports no tool'],
    [`export default ${tool('two words')}`, "A tool's name is 1 to 64 letters"],
    [`export default { name: 'a', description: 'A', execute() {} }`, 'its tool a has no input'],
    [`export default { name: 'a', input: {}, execute() {} }`, 'its tool a has no description'],
    [`export default { description: 'A', input: {}, execute() {} }`, 'has no name'],
    [
      `export default { name: 'a', description: 'A', input: { type: 'objekt' }, execute() {} }`,
      'input of the tool "a": ',
    ],
    [`export default [${tool('a')}, ${tool('a')}]`, 'it has a tool named a already'],
    [`throw new Error('no key')`, 'no key'],
  ])('%s', async (text, reason) => {
    await write('tools.mjs', text)
    await config(module('tools.mjs'))
    const said = await problem()
    expect(said).toMatch(/^\.\/corral\.toml:8:1: Agent "m": .*tools\.0\.module: \.\/tools\.mjs/)
    expect(said).toContain(reason)
  })

  test('where it is not there', async () => {
    await write('a.mjs', `export default ${tool('a')}`)
    await config(`${module('a.mjs')}\n${module('b.mjs')}`)
    expect(await problem()).toMatch(/^\.\/corral\.toml:11:1: .*there is no such file/)
  })

  test('where another has a tool of that name', async () => {
    await write('a.mjs', `export default ${tool('a')}`)
    await write('b.mjs', `export default ${tool('a')}`)
    await config(`${module('a.mjs')}\n${module('b.mjs')}`)
    expect(await problem()).toMatch(
      /^\.\/corral\.toml:11:1: .*\.\/a\.mjs has a tool named a already/,
    )
  })

  test('where approval names a tool that it does not have', async () => {
    await write('a.mjs', `export default [${tool('pay')}, ${tool('refund')}]`)
    await config(module('a.mjs', 'approval = ["pay", "refnd"]'))
    expect(await problem()).toBe(
      './corral.toml:9:20: Agent "m": Invalid field value for tools.0.approval.1: refnd (is not a tool of ./a.mjs; its tools: pay, refund)',
    )
  })

  test('where the agent is no model', async () => {
    await write(
      'corral.toml',
      `[[agents]]\nid = "m"\nname = "M"\nendpoint = "http://x"\nprotocol = "a2a"\n${module('a.mjs')}`,
    )
    expect(await problem()).toMatch(
      /^\.\/corral\.toml:6:\d+: .*only an agent of protocol openai uses tools/,
    )
  })

  test('where a key is wrong', async () => {
    await config(module('a.mjs', 'aproval = true'))
    expect(await problem()).toContain(
      'corral.toml:9:1: unknown key aproval (did you mean approval?)',
    )
    await config(module('a.mjs', 'approval = "pay"'))
    expect(await problem()).toMatch(/corral\.toml:9:1: agents\.tools\.approval: /)
  })
})

test('a file of tools that changes is loaded anew', async () => {
  await write('tools.mjs', `export default ${tool('old')}`)
  const model = await config(module('tools.mjs'))
  const path = join(directory, 'corral.toml')
  const made = await new Promise<Roster>((resolve, reject) => {
    loadConfig(path, {}).then((current) => {
      const options = { env: {}, deps: { directory }, onRoster: resolve, onError: reject }
      closing.push(watchConfig(path, current, options))
      return write('tools.mjs', `export default ${tool('renewed')}`)
    }, reject)
  })
  closing.push(() => made.close())
  expect(await offered(model, made)).toEqual(['renewed'])
})
