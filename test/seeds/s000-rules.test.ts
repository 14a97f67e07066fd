import { describe, expect, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import {
  type AgentConfig,
  ConfigConversionError,
  toA2AAgentConfig,
  toOpenAIAgentConfig,
  validateModuleAgentConfig,
} from '../../src/agents/config.ts'
import { createAgentFromConfig } from '../../src/agents/create.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import { parseConfig } from '../../src/app/config/load.ts'
import { AgentManager } from '../../src/team/manager.ts'
import { defineTeam, Team, type TeamDefinition } from '../../src/team/team.ts'
import { InvalidTeamError } from '../../src/team/validate.ts'
import { get, serve } from '../acceptance/serve.ts'

const answer = (): string => 'ok'
const writer = defineAgent({ name: 'Writer', abilities: ['prose'] }, answer)
const definition: TeamDefinition = {
  id: 'team',
  name: 'Team',
  agents: { writer },
  scheduler: { type: 'workflow', steps: [{ agentId: 'writer' }] },
}
const faultOf = (change: Partial<TeamDefinition>): unknown => {
  try {
    defineTeam({ ...definition, ...change })
    return undefined
  } catch (error) {
    return error instanceof InvalidTeamError ? error.fault : error
  }
}

const a2a: AgentConfig = { id: 'a', name: 'A', endpoint: 'http://a.example/rpc', protocol: 'a2a' }
const model: AgentConfig = {
  ...a2a,
  endpoint: 'http://m.example/v1',
  protocol: 'openai',
  metadata: { api_key: 'k' },
}
const file: AgentConfig = { ...a2a, endpoint: './a.js', protocol: 'module' }

describe('what we define in code keeps the rules of a file', () => {
  test('S000-67: names are not empty', () => {
    for (const name of ['', '  ']) {
      expect(() => defineAgent({ name }, answer)).toThrow('An agent needs a name')
      expect(faultOf({ name })).toBe('missingName')
      const configs = [
        () => toA2AAgentConfig({ ...a2a, name }),
        () => toOpenAIAgentConfig({ ...model, name }),
        () => validateModuleAgentConfig({ ...file, name }),
      ]
      for (const convert of configs) expect(convert).toThrow(ConfigConversionError)
      expect(configs[0]).toThrow('Invalid field value for name')
    }
  })

  test('S000-68: capabilities occur once, whoever lists them twice', async () => {
    const twice = ['prose', 'plot', 'prose']
    const careless: Agent = {
      info: () => ({ id: 'c', name: 'C', description: '', capabilities: twice, metadata: {} }),
      process: answer,
    }
    const manager = new AgentManager()
    await manager.register(careless)
    expect((await manager.info('c')).capabilities).toEqual(['prose', 'plot'])
    expect((await manager.list())[0]?.capabilities).toEqual(['prose', 'plot'])
    const { url } = await serve(careless)
    const { json: card } = await get(`${url}/.well-known/agent-card.json`)
    expect(card.skills.map(({ name }: { name: string }) => name)).toEqual(['prose', 'plot'])
    expect(() => defineAgent({ name: 'A', abilities: ['prose', ''] }, answer)).toThrow(
      'An ability needs a name',
    )
    expect(() => toA2AAgentConfig({ ...a2a, capabilities: [' '] })).toThrow(
      'Invalid field value for capabilities',
    )
  })

  test('S000-78: ids are UUIDs or qualified names', () => {
    for (const id of ['', 'two words', '-x', 'a/', 'ä']) {
      expect(() => defineAgent({ name: 'A', id }, answer)).toThrow('id')
      expect(faultOf({ id })).toBe(id === '' ? 'missingName' : 'invalidId')
      expect(() => new AgentManager().registerWithId(id, writer)).toThrow('id')
      expect(() => toA2AAgentConfig({ ...a2a, id })).toThrow('Invalid field value for id')
    }
    for (const id of ['a', 'org.example/team:writer', '123e4567-e89b-12d3-a456-426614174000']) {
      expect(defineAgent({ name: 'A', id }, answer)).toBeDefined()
      expect(faultOf({ id })).toBeUndefined()
    }
  })

  test('S000-79: the details of a capability name it', () => {
    const detail = { name: ' ', description: 'Writes', version: '1.0.0' }
    expect(faultOf({ capabilityDetails: [detail] })).toBe('unnamedCapability')
    expect(() => defineAgent({ name: 'A', capabilities: [detail] }, answer)).toThrow(
      'A capability needs a name',
    )
  })

  test('S000-80: versions are semantic', () => {
    for (const version of ['1', '1.0', 'v1.0.0', '01.0.0', 'latest', '']) {
      expect(faultOf({ version })).toBe('invalidVersion')
      expect(() => defineAgent({ name: 'A', version }, answer)).toThrow('semantic version')
      const detail = { name: 'prose', description: '', version }
      expect(faultOf({ capabilityDetails: [detail] })).toBe('invalidVersion')
    }
    for (const version of ['0.1.0', '2.0.0', '1.0.0-rc.1+build.5'])
      expect(faultOf({ version })).toBeUndefined()
  })

  test('S000-84: a scheduler that there is not is refused when the team is made', () => {
    const scheduler = { type: 'committee', steps: [] }
    // as in JavaScript, where nobody checks the type
    expect(faultOf({ scheduler: scheduler as never })).toBe('unknownScheduler')
    expect(() => defineTeam({ ...definition, scheduler: scheduler as never })).toThrow(
      'Team "team": there is no scheduler "committee"; supervisor, workflow and router are known',
    )
  })

  test('S000-67 to 80: the card of a remote agent is never refused for them', async () => {
    const card = {
      name: 'Two words & more',
      description: '',
      version: 'latest',
      capabilities: {},
      skills: [
        { id: 'a', name: 'prose', description: '', tags: [] },
        { id: 'b', name: 'prose', description: '', tags: [] },
      ],
    }
    const { url } = await serve({
      agents: [writer],
      routes: (request) =>
        request.path.startsWith('/.well-known/')
          ? {
              status: 200,
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({ ...card, url: `${url}/`, protocolVersion: '0.3.0' }),
            }
          : undefined,
    })
    const config = { endpoint: url, timeoutSeconds: 5, maxRetries: 0 }
    const remote = new A2AAgent({ ...config, taskHandling: 'PollUntilComplete' })
    const manager = new AgentManager()
    expect(await manager.register(remote)).toBe('Two words & more')
    expect(await manager.info('Two words & more')).toMatchObject({
      capabilities: ['prose'],
      details: { version: 'latest' },
    })
  })
})

describe('the seed’s own spellings', () => {
  test('S000-92: protocol A2A and OpenAI, case aside', async () => {
    for (const protocol of ['A2A', 'a2a'] as const)
      expect(toA2AAgentConfig({ ...a2a, protocol }).endpoint).toBe(a2a.endpoint)
    for (const protocol of ['OpenAI', 'openai'] as const)
      expect(toOpenAIAgentConfig({ ...model, protocol }).model).toBe('gpt-4')
    const deps = { directory: '.' }
    const agent = await createAgentFromConfig({ ...a2a, protocol: 'A2A' }, deps)
    expect(agent).toBeInstanceOf(A2AAgent)
    expect(() => toA2AAgentConfig({ ...a2a, protocol: 'OpenAI' })).toThrow(
      'Wrong protocol type: expected A2A, found OpenAI',
    )
  })

  test('S000-89, S000-91: mode and scheduler Supervisor and Workflow', () => {
    const workflow = defineTeam({
      ...definition,
      scheduler: { type: 'Workflow', steps: [{ agentId: 'writer' }] },
    })
    expect(workflow.config.scheduler.type).toBe('workflow')
    const manager = new AgentManager()
    manager.registerWithId('writer', writer)
    const supervised = new Team(
      {
        id: 'team',
        name: 'Team',
        description: '',
        agents: [{ agentId: 'writer' }],
        scheduler: { type: 'Supervisor', supervisorAgentId: 'writer' },
      },
      manager,
    )
    expect(supervised.config.scheduler.type).toBe('supervisor')
  })

  test('S000-89 to 92: in a file too', () => {
    const text = (protocol: string, mode: string, type: string): string => `
[[agents]]
id = "a"
name = "A"
endpoint = "http://a.example/rpc"
protocol = "${protocol}"

[[teams]]
id = "t"
name = "T"
description = ""
mode = "${mode}"
agents = [{ agent_id = "a" }]

[teams.scheduler_config]
type = "${type}"
supervisor_agent_id = "a"
`
    const spellings: readonly [string, string, string][] = [
      ['A2A', 'Supervisor', 'Supervisor'],
      ['a2a', 'supervisor', 'Supervisor'],
      ['A2a', 'SUPERVISOR', 'supervisor'],
    ]
    for (const words of spellings) {
      const config = parseConfig(text(...words))
      expect(config.agents[0]?.protocol).toBe('a2a')
      expect(config.teams[0]?.scheduler.type).toBe('supervisor')
    }
    expect(() => parseConfig(text('A2A', 'Supervisor', 'Committee'))).toThrow('invalid option')
  })
})
