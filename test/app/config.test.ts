import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../src/app/config/load.ts'
import { agents } from '../team/two-agents.ts'

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

  test('an agent names the origins that get its credentials beside its own', () => {
    const text = (origin: string): string => `
[[agents]]
id = "member"
name = "Member"
endpoint = "https://agent.example.com"
protocol = "a2a"
credential_origins = ["${origin}"]
`
    const { agents: found } = parseConfig(text('https://api.example.com'))
    expect(found).toMatchObject([{ credentialOrigins: ['https://api.example.com'] }])
    expect(() => parseConfig(text('api.example.com'))).toThrow('must be an origin such as https://')
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
allowed_hosts = ["inside.example", "other:8443"]
allow_unauthenticated = true
trusted_proxies = ["loopback", "10.0.0.0/8", "2001:db8::1"]
store = ".corral/tasks.db"
trace = true
[[server.auth.api_keys]]
key = "\${ALICE}"
user = "alice"
[server.cors]
origins = ["https://app.example.com"]
[server.limits]
requests = 600
[server.retention]
max_age_days = 30
max_tasks = 1000
max_bytes = 1000000
waiting_days = 0.5
[server.webhooks]
allow_http = true
`,
      { env: { ALICE: 'secret' } },
    )
    expect(server).toEqual({
      host: '0.0.0.0',
      port: 8080,
      publicUrl: 'https://agents.example.com',
      allowedHosts: ['inside.example', 'other:8443'],
      allowUnauthenticated: true,
      trustedProxies: ['loopback', '10.0.0.0/8', '2001:db8::1'],
      store: '.corral/tasks.db',
      trace: true,
      auth: { apiKeys: { secret: 'alice' } },
      cors: { origins: ['https://app.example.com'] },
      limits: { requests: 600 },
      retention: { maxAgeDays: 30, maxTasks: 1000, maxBytes: 1_000_000, waitingDays: 0.5 },
      webhooks: { allowHttp: true },
    })
  })
  test.each([
    ['allowed_hosts = ["https://a.example"]', 'must be a host'],
    ['allowed_hosts = ["a b"]', 'must be a host'],
    ['trusted_proxies = ["10.0.0.0/40"]', 'must be an address, a range'],
    ['trusted_proxies = ["proxy.example"]', 'must be an address, a range'],
  ])('%s is refused', (line, reason) => {
    expect(() => parseConfig(`${agents}\n[server]\n${line}\n`, { env: {} })).toThrow(reason)
  })
})
