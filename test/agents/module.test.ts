import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AgentConfig, ConfigConversionError } from '../../src/agents/config.ts'
import { createAgentFromConfig } from '../../src/agents/create.ts'
import { loadModuleAgent } from '../../src/agents/module.ts'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import { createTurn, runTurn } from '../fixtures/turn.ts'

let directory = ''
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'corral-module-'))
})
afterAll(() => rm(directory, { recursive: true }))

async function write(name: string, text: string): Promise<AgentConfig> {
  await writeFile(join(directory, name), text)
  return { id: 'm', name: 'Mine', endpoint: `./${name}`, protocol: 'module' }
}

describe('an agent in a file', () => {
  test('may be a function', async () => {
    const config = await write('function.mjs', 'export default (message) => message.parts[0].text')
    const agent = await loadModuleAgent({ ...config, capabilities: ['a', 'a'] }, directory)
    expect(await agent.info()).toMatchObject({ id: 'm', name: 'Mine', capabilities: ['a'] })
    expect(agent.resumable).toBe(false)
    expect(await runTurn(agent, createTurn('hi'))).toEqual(['hi'])
  })

  test('may be a generator that may run again after a crash', async () => {
    const text = 'export const resumable = true; export default async function* () { yield "a" }'
    const agent = await loadModuleAgent(await write('generator.mjs', text), directory)
    expect(agent.resumable).toBe(true)
    expect(await runTurn(agent, createTurn('hi'))).toEqual(['a'])
  })

  test('may be an agent of a class, under the names of the configuration', async () => {
    const text = `class Own {
      #word = 'own'
      info() { return { id: 'x', name: 'X', description: 'd', capabilities: ['c'], metadata: { a: '1' } } }
      process() { return this.#word }
      async health() { return { healthy: false, reason: this.#word } }
    }
    export default new Own()`
    const config = { ...(await write('class.mjs', text)), metadata: { api_key: 'k', b: 2 } }
    const agent = await loadModuleAgent(config, directory)
    expect(await agent.info()).toEqual({
      id: 'm',
      name: 'Mine',
      description: 'd',
      capabilities: ['c'],
      metadata: { a: '1', b: '2' },
    })
    expect(await runTurn(agent, createTurn('hi'))).toEqual(['own'])
    expect(await agent.health?.()).toEqual({ healthy: false, reason: 'own' })
    await agent.close?.()
  })

  test('may be an object with run(text)', async () => {
    const config = await write('run.mjs', 'export default { run: (text) => text.toUpperCase() }')
    const agent = await loadModuleAgent(config, directory)
    expect(await runTurn(agent, createTurn('hi'))).toEqual(['HI'])
  })

  test('may be TypeScript where something loads that, whenever it was written', async () => {
    const text = 'type Said = string\nexport default (): Said => "typed"'
    const config = await write('typed.ts', text)
    await utimes(join(directory, 'typed.ts'), 1_000_000.5, 1_000_000.0625)
    const agent = await loadModuleAgent(config, directory)
    expect(await runTurn(agent, createTurn('hi'))).toEqual(['typed'])
  })

  test('is loaded anew when the file has changed', async () => {
    const config = await write('changing.mjs', 'export default () => "old"')
    await utimes(join(directory, 'changing.mjs'), 1, 1)
    const before = await loadModuleAgent(config, directory)
    await write('changing.mjs', 'export default () => "new"')
    const after = await loadModuleAgent(config, directory)
    expect(await runTurn(before, createTurn('hi'))).toEqual(['old'])
    expect(await runTurn(after, createTurn('hi'))).toEqual(['new'])
  })
})

describe('a file that is no agent', () => {
  async function fault(config: AgentConfig): Promise<string> {
    const error = await loadModuleAgent(config, directory).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ConfigConversionError)
    expect(String(error)).not.toContain(directory)
    return String(error)
  }

  test('is named as the configuration names it, never by its place', async () => {
    const config = await write('empty.mjs', 'export const x = 1')
    expect(await fault({ ...config, endpoint: './gone.mjs' })).toContain('./gone.mjs (there is no')
    expect(await fault(config)).toContain('no agent and no function')
    expect(await fault(await write('wrong.mjs', 'export default 7'))).toContain('no agent')
    expect(await fault(await write('syntax.mjs', 'export default ('))).toContain('cannot be loaded')
    const lost = await write('lost.mjs', 'import "./missing.mjs"; export default () => "x"')
    expect(await fault(lost)).toContain('cannot be loaded')
    expect(await fault(await write('throws.mjs', 'throw new Error("boom")'))).toContain('boom')
    expect(await fault({ ...config, endpoint: ' ' })).toContain('endpoint')
    expect(await fault({ ...config, protocol: 'a2a' })).toContain('expected Module')
  })
})

describe('an agent from its configuration', () => {
  test('is of the kind that its protocol names, and nothing is contacted', async () => {
    const base = { id: 'a', name: 'A', endpoint: 'http://127.0.0.1:1' }
    const remote = await createAgentFromConfig({ ...base, protocol: 'a2a' }, { directory })
    expect(remote).toBeInstanceOf(A2AAgent)
    const environment = { OPENAI_API_KEY: 'k' }
    const config = { ...base, protocol: 'openai' } as const
    const model = await createAgentFromConfig(config, { directory, environment })
    expect(model).toBeInstanceOf(OpenAIAgent)
    expect(await model.info()).toMatchObject({ id: 'a', name: 'A' })
    await Promise.all([remote.close?.(), model.close?.()])
    const file = await write('made.mjs', 'export default () => "made"')
    const agent = await createAgentFromConfig(file, { directory })
    expect(await runTurn(agent, createTurn('hi'))).toEqual(['made'])
  })

  test('of an unknown protocol is refused', async () => {
    // A configuration from JavaScript can hold any string; the type forbids it only in TypeScript.
    const config = { id: 'a', name: 'A', endpoint: 'http://h', protocol: 'grpc' as 'a2a' }
    await expect(createAgentFromConfig(config, { directory })).rejects.toThrow('protocol: grpc')
  })
})
