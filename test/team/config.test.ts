import { describe, expect, test } from 'vitest'
import { ConfigError, parseConfig } from '../../src/team/config.ts'

const agents = `
[[agents]]
id = "a"
name = "Agent A"
endpoint = "http://localhost:8081/rpc"
protocol = "a2a"

[[agents]]
id = "b"
name = "Agent B"
endpoint = "./b.js"
protocol = "module"
`

function problemsOf(text: string, env: Record<string, string> = {}): string[] {
  try {
    parseConfig(text, { env, path: 'team.toml' })
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
  return []
}

describe('the shapes of the seeds and their origin', () => {
  test('an agent has the origin’s keys, and numbers may be strings', () => {
    const { agents: found } = parseConfig(
      `
[[agents]]
id = "agent1"
name = "Research Assistant"
endpoint = "https://api.openai.com/v1"
protocol = "openai"
capabilities = ["research", "analysis"]
timeout_seconds = "30"
max_retries = 3

[agents.metadata]
api_key = "\${KEY}"
model = "gpt-4"
temperature = "0.7"
max_tokens = "1000"

[[agents]]
id = "agent2"
name = "Code Reviewer"
endpoint = "http://localhost:8081"
protocol = "a2a"
[agents.auth]
type = "oauth2"
token_url = "https://auth.example.com/token"
client_id = "corral"
client_secret = "\${KEY}"
`,
      { env: { KEY: 'k-"1"' } },
    )
    expect(found).toEqual([
      {
        id: 'agent1',
        name: 'Research Assistant',
        endpoint: 'https://api.openai.com/v1',
        protocol: 'openai',
        capabilities: ['research', 'analysis'],
        timeoutSeconds: 30,
        maxRetries: 3,
        metadata: { api_key: 'k-"1"', model: 'gpt-4', temperature: '0.7', max_tokens: '1000' },
      },
      {
        id: 'agent2',
        name: 'Code Reviewer',
        endpoint: 'http://localhost:8081',
        protocol: 'a2a',
        auth: {
          type: 'oauth2',
          tokenUrl: 'https://auth.example.com/token',
          clientId: 'corral',
          clientSecret: 'k-"1"',
        },
      },
    ])
  })

  test('a supervisor, a workflow and a router team are read word for word', () => {
    const { teams } = parseConfig(`${agents}
[[teams]]
id = "team1"
name = "Development Team"
description = "Team for software development tasks"
mode = "supervisor"
[teams.scheduler_config]
type = "supervisor"
supervisor_agent_id = "a"
[[teams.agents]]
agent_id = "a"
role = "researcher"
capabilities = ["research"]
[[teams.agents]]
agent_id = "b"

[[teams]]
id = "team2"
name = "Analysis Pipeline"
description = "Sequential analysis workflow"
mode = "workflow"
[teams.scheduler_config]
type = "workflow"
[[teams.scheduler_config.steps]]
agent_id = "a"
order = 1
condition = ""
[[teams.scheduler_config.steps]]
agent_id = "team1"
order = 2
[[teams.agents]]
agent_id = "a"
[[teams.agents]]
agent_id = "team1"

[[teams]]
id = "team3"
name = "Routing"
description = "With dynamic routing"
[teams.router_config]
default_agent_id = "a"
max_routing_hops = 15
[[teams.agents]]
agent_id = "a"
`)
    expect(teams.map(({ scheduler }) => scheduler)).toEqual([
      { type: 'supervisor', supervisorAgentId: 'a' },
      {
        type: 'workflow',
        steps: [
          { agentId: 'a', order: 1, condition: '' },
          { agentId: 'team1', order: 2 },
        ],
      },
      { type: 'router', defaultAgentId: 'a', maxRoutingHops: 15 },
    ])
    expect(teams[0]?.agents[0]).toEqual({
      agentId: 'a',
      role: 'researcher',
      capabilities: ['research'],
    })
  })

  test('workflow steps can be parallel, repeated, mapped and approved', () => {
    const { teams } = parseConfig(`${agents}
[[teams]]
id = "t"
name = "T"
description = "Everything"
mode = "workflow"
[[teams.agents]]
agent_id = "a"
[[teams.agents]]
agent_id = "b"
[[teams.scheduler_config.steps]]
parallel = [{ agent_id = "a", timeout_seconds = 5 }, { agent_id = "b" }]
[[teams.scheduler_config.steps]]
[teams.scheduler_config.steps.loop]
until = "DONE"
max_iterations = 3
[[teams.scheduler_config.steps.loop.steps]]
agent_id = "a"
max_retries = 2
fallback_agent_id = "b"
[[teams.scheduler_config.steps]]
map = { agent_id = "b", max_parallel = 2 }
[[teams.scheduler_config.steps]]
approval = { question = "Publish?" }
`)
    expect(teams[0]?.scheduler).toEqual({
      type: 'workflow',
      steps: [
        { parallel: [{ agentId: 'a', timeoutSeconds: 5 }, { agentId: 'b' }] },
        {
          loop: {
            until: 'DONE',
            maxIterations: 3,
            steps: [{ agentId: 'a', maxRetries: 2, fallbackAgentId: 'b' }],
          },
        },
        { map: { agentId: 'b', maxParallel: 2 } },
        { approval: { question: 'Publish?' } },
      ],
    })
  })

  test('the server table is read', () => {
    const { server } = parseConfig(
      `${agents}
[server]
host = "0.0.0.0"
port = 8080
public_url = "https://agents.example.com"
store = ".corral/tasks.db"
trace = true
[[server.auth.api_keys]]
key = "\${ALICE}"
user = "alice"
[server.cors]
origins = ["https://app.example.com"]
[server.limits]
requests = 600
[server.webhooks]
allow_http = true
`,
      { env: { ALICE: 'secret' } },
    )
    expect(server).toEqual({
      host: '0.0.0.0',
      port: 8080,
      publicUrl: 'https://agents.example.com',
      store: '.corral/tasks.db',
      trace: true,
      auth: { apiKeys: { secret: 'alice' } },
      cors: { origins: ['https://app.example.com'] },
      limits: { requests: 600 },
      webhooks: { allowHttp: true },
    })
  })
})

describe('what is wrong is refused with line, column and a hint', () => {
  test('TOML that is none', () => {
    expect(problemsOf('[[agents]]\nid = = 1')).toEqual([
      expect.stringMatching(/^team\.toml:2:\d+: Invalid TOML document/),
    ])
  })

  test('an unknown key', () => {
    expect(
      problemsOf('[[agents]]\nid = "a"\n  nmae = "A"\nendpoint = "x"\nprotocol = "module"'),
    ).toEqual([
      'team.toml:1:1: agents.name: invalid input: expected string, received undefined',
      'team.toml:3:3: unknown key nmae (did you mean name?)',
    ])
  })

  test('R-W13: an unknown protocol is refused', () => {
    expect(problemsOf(agents.replace('"module"', '"openapi"'))).toEqual([
      expect.stringMatching(
        /^team\.toml:12:1: agents\.protocol: invalid option.*"a2a"\|"openai"\|"module"/,
      ),
    ])
  })

  test('R-W13: an unknown mode and an unknown task_handling are refused', () => {
    const text = `${agents}
[[teams]]
id = "t"
name = "T"
description = ""
mode = "supervisr"
`
    expect(problemsOf(text)).toEqual([
      expect.stringMatching(/^team\.toml:18:1: teams\.mode: invalid option/),
    ])
    const handling = agents.replace(
      'protocol = "a2a"',
      'protocol = "a2a"\nmetadata = { task_handling = "pol" }',
    )
    expect(problemsOf(handling)).toEqual([
      'team.toml:7:1: Invalid field value for metadata.task_handling: pol (must be poll_until_complete, return_task_info or reject_tasks)',
    ])
  })

  test('a variable that is not set', () => {
    const who = `\${WHO}`
    expect(problemsOf(agents.replace('Agent A', who))).toEqual([
      'team.toml:4:1: the variable WHO is not set',
    ])
    expect(parseConfig(agents.replace('Agent A', () => `$${who}`)).agents[0]?.name).toBe(who)
  })

  test('R-W17: ranges are the same for every agent, with both edges', () => {
    const with_ = (key: string, value: string) =>
      problemsOf(agents.replace('protocol = "a2a"', `protocol = "a2a"\n${key} = ${value}`))
    expect(with_('timeout_seconds', '300')).toEqual([
      'team.toml:7:1: Invalid field value for timeout_seconds: 300 (must be > 0 and < 300 seconds)',
    ])
    expect(with_('timeout_seconds', '0')).toHaveLength(1)
    expect(with_('timeout_seconds', '299')).toEqual([])
    expect(with_('timeout_seconds', '0.001')).toEqual([])
    expect(with_('max_retries', '11')).toHaveLength(1)
    expect(with_('max_retries', '10')).toEqual([])
  })

  test.each([
    ['temperature', '"0"', true],
    ['temperature', '2', true],
    ['temperature', '2.01', false],
    ['max_tokens', '0', false],
    ['max_tokens', '"1"', true],
    ['max_tokens', '4096', true],
    ['max_tokens', '4097', false],
    ['model', '""', false],
  ])('AT-20: a model with %s = %s is taken: %s', (key, value, taken) => {
    const text = `
[[agents]]
id = "m"
name = "Model"
endpoint = "https://api.openai.com/v1"
protocol = "openai"
[agents.metadata]
${key} = ${value}
`
    const problems = problemsOf(text, { OPENAI_API_KEY: 'sk-1' })
    if (taken) expect(problems).toEqual([])
    else expect(problems).toEqual([expect.stringMatching(`^team\\.toml:8:1: .*metadata\\.${key}`)])
    expect(problemsOf(text)).not.toEqual([])
  })

  test('settings that have no effect on an agent of this kind', () => {
    const module = (lines: string) =>
      problemsOf(agents.replace('protocol = "a2a"', `protocol = "module"\n${lines}`))
    expect(module('timeout_seconds = 300')[0]).toContain('timeout_seconds: 300')
    expect(module('max_retries = 11')[0]).toContain('max_retries: 11')
    expect(module('timeout_seconds = 5\nmax_retries = 1')).toEqual([])
    expect(module('auth = { type = "bearer", token = "secret" }')[0]).toMatch(
      /:7:\d+: .*a module has no credentials/,
    )
    const tools = 'mcp_servers = [{ name = "files", command = "files" }]'
    expect(module(tools)[0]).toContain('only a model uses tools')
    expect(
      problemsOf(agents.replace('protocol = "a2a"', `protocol = "a2a"\n${tools}`))[0],
    ).toContain('only a model uses tools')
  })

  test('a member that is nowhere, an id that is used twice, teams in a circle', () => {
    const team = (id: string, member: string) => `
[[teams]]
id = "${id}"
name = "T"
description = ""
[teams.router_config]
default_agent_id = "${member}"
[[teams.agents]]
agent_id = "${member}"
`
    expect(problemsOf(agents + team('t', 'aa'))).toEqual([
      'team.toml:21:1: Team "t": agent "aa" is not registered (did you mean a?)',
    ])
    expect(problemsOf(agents + team('b', 'a'))).toEqual(['team.toml:15:1: the id b is used twice'])
    expect(problemsOf(agents + team('x', 'y') + team('y', 'x'))).toEqual([
      'team.toml:14:1: Team "x": a team cannot contain itself (x > y > x)',
      'team.toml:23:1: Team "y": a team cannot contain itself (y > x > y)',
    ])
  })

  test('a mode that contradicts its tables, a step that is two things', () => {
    const start = `${agents}
[[teams]]
id = "t"
name = "T"
description = ""
mode = "workflow"
[[teams.agents]]
agent_id = "a"
`
    expect(problemsOf(`${start}[teams.router_config]\ndefault_agent_id = "a"`)).toEqual([
      'team.toml:18:1: teams.mode: contradicts the tables below it (workflow, router)',
    ])
    expect(
      problemsOf(
        `${start}[[teams.scheduler_config.steps]]\nagent_id = "a"\napproval = { question = "?" }`,
      ),
    ).toEqual([
      expect.stringContaining('team.toml:21:1: teams.scheduler_config.steps: needs exactly one of'),
    ])
  })

  test('a secret never shows in an error', () => {
    const text = agents.replace(
      'protocol = "a2a"',
      `protocol = "a2a"\nmetadata = { bearer_token = "\${T}" }`,
    )
    const [problem] = problemsOf(text, { T: 'top secret' })
    expect(problem).toContain('redacted')
    expect(problem).not.toContain('top secret')
  })
})
