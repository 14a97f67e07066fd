import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../../src/app/config/load.ts'
import { ConfigError } from '../../../src/app/config/locate.ts'
import { agents } from '../../team/two-agents.ts'

function problemsOf(text: string, env: Record<string, string> = {}): string[] {
  try {
    parseConfig(text, { env, path: 'team.toml' })
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
  return []
}

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
      'team.toml:1:1: agents.name is missing',
      'team.toml:3:3: unknown key nmae (did you mean name?)',
    ])
  })

  test('what is missing', () => {
    expect(problemsOf(agents.replace('name = "Agent A"', ''))).toEqual([
      expect.stringContaining('agents.name is missing'),
    ])
    const model = agents
      .replace('protocol = "a2a"', 'protocol = "openai"')
      .replace(/endpoint = "http[^"]*"/, 'endpoint = "https://api.openai.com/v1"')
    expect(problemsOf(model)).toEqual([
      expect.stringContaining(
        'Missing required field: metadata.api_key (or set the variable OPENAI_API_KEY)',
      ),
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
      'team.toml:7:14: Invalid field value for metadata.task_handling: pol (must be poll_until_complete, return_task_info or reject_tasks)',
    ])
  })

  test('a variable that is not set', () => {
    const who = `\${WHO}`
    expect(problemsOf(agents.replace('Agent A', who))).toEqual([
      'team.toml:4:1: the variable WHO is not set (set it where the command runs, WHO=…, or write $${WHO} for the text itself)',
    ])
    expect(parseConfig(agents.replace('Agent A', () => `$${who}`)).agents[0]?.name).toBe(who)
  })

  test('R-W17: ranges are the same for every agent, with both edges', () => {
    const with_ = (key: string, value: string) =>
      problemsOf(agents.replace('protocol = "a2a"', `protocol = "a2a"\n${key} = ${value}`))
    expect(with_('timeout_seconds', '315360001')).toEqual([
      'team.toml:7:1: Invalid field value for timeout_seconds: 315360001 (must be > 0 and <= 315360000 seconds (10 years))',
    ])
    expect(with_('timeout_seconds', '0')).toHaveLength(1)
    expect(with_('timeout_seconds', '315360000')).toEqual([])
    expect(with_('max_task_seconds', '0')).toHaveLength(1)
    expect(with_('max_task_seconds', '86400')).toEqual([])
    expect(with_('wait', '"stream"')).toEqual([])
    expect(with_('wait', '"push"')).toEqual([expect.stringContaining('needs public_url')])
    expect(with_('wait', '"poll"')).toHaveLength(1)
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
    expect(module('timeout_seconds = 0')[0]).toContain('timeout_seconds: 0')
    expect(module('wait = "push"')[0]).toContain('only an a2a agent has tasks of its own')
    expect(module('max_task_seconds = 60')[0]).toContain('only an a2a agent has tasks of its own')
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
    expect(problemsOf(agents + team('b', 'a'))).toEqual([
      'team.toml:15:1: the id b is used twice (agents and teams share their ids; rename one)',
    ])
    expect(problemsOf(agents + team('x', 'y') + team('y', 'x'))).toEqual([
      'team.toml:21:1: Team "x": a team cannot contain itself (x > y > x)',
      'team.toml:30:1: Team "y": a team cannot contain itself (y > x > y)',
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

  describe("a step's fault is found at the step", () => {
    const start = `${agents}
[[teams]]
id = "t"
name = "T"
description = ""
mode = "workflow"
agents = [{ agent_id = "a" }, { agent_id = "b" }]
`
    const table = '[[teams.scheduler_config.steps]]\n'

    test.each<[string, string, string]>([
      [
        'a member',
        `${table}agent_id = "aa"`,
        '21:1: Team "t": a step names "aa", which is not a member (did you mean a?)',
      ],
      [
        'the second step',
        `${table}agent_id = "a"\n${table}agent_id = "zzz"`,
        '23:1: Team "t": a step names "zzz", which is not a member (known: a, b)',
      ],
      [
        'a fallback',
        `${table}agent_id = "a"\nfallback_agent_id = "c"`,
        '22:1: Team "t": a step names "c", which is not a member (did you mean a?)',
      ],
      [
        'a branch',
        `${table}parallel = [\n  { agent_id = "a" },\n  { agent_id = "bb" },\n]`,
        '23:5: Team "t": a step names "bb", which is not a member (did you mean b?)',
      ],
      [
        'a branch of a branch',
        `${table}parallel = [{ agent_id = "a" }, { parallel = [{ agent_id = "c" }] }]`,
        '21:49: Team "t": a step names "c"',
      ],
      [
        'a branch in tables',
        `${table}[[teams.scheduler_config.steps.parallel]]\nagent_id = "a"\n[[teams.scheduler_config.steps.parallel]]\nagent_id = "c"`,
        '24:1: Team "t": a step names "c"',
      ],
      [
        'a loop',
        `${table}[teams.scheduler_config.steps.loop]\nuntil = "x"\nmax_iterations = 0\nsteps = [{ agent_id = "a" }]`,
        '23:1: Team "t": max_iterations must be from 1 to',
      ],
      [
        'a step in a loop',
        `${table}loop = { until = "x", max_iterations = 2, steps = [{ agent_id = "c" }] }`,
        '21:54: Team "t": a step names "c"',
      ],
      [
        'a map',
        `${table}map = { agent_id = "a", timeout_seconds = 0 }`,
        '21:25: Team "t": timeout_seconds must be > 0 and <= 315360000 seconds (10 years), not 0',
      ],
      [
        'branches that are none',
        `${table}parallel = []`,
        '21:1: Team "t": a parallel step needs branches',
      ],
      [
        'steps that are none',
        '[teams.scheduler_config]\nsteps = []',
        '21:1: Team "t": a workflow needs at least one step',
      ],
      [
        'a key of a branch',
        `${table}parallel = [{ agent_id = "a", contition = "x" }]`,
        '21:31: unknown key contition (did you mean condition?)',
      ],
    ])('%s', (_name, steps, words) => {
      expect(problemsOf(start + steps)).toEqual([expect.stringContaining(`team.toml:${words}`)])
    })
  })

  test("a team's own names and numbers are found where they stand", () => {
    const team = (lines: string) => `${agents}
[[teams]]
id = "t"
name = "T"
description = ""
agents = [{ agent_id = "a" }]
${lines}
`
    expect(problemsOf(team('[teams.scheduler_config]\ntype = "superviser"'))).toEqual([
      expect.stringMatching(
        /^team\.toml:20:1: teams\.scheduler_config\.type.*\(did you mean supervisor\?\)$/,
      ),
    ])
    expect(
      problemsOf(team('[teams.scheduler_config]\ntype = "supervisor"\nsupervisor_agent_id = "b"')),
    ).toEqual(['team.toml:21:1: Team "t": supervisor "b" is not a member (did you mean a?)'])
    expect(problemsOf(team('router_config = { default_agent_id = "c" }'))).toEqual([
      'team.toml:19:19: Team "t": default agent "c" is not a member (did you mean a?)',
    ])
    const router = 'router_config = { default_agent_id = "a" }'
    expect(problemsOf(team(`${router}\nbudget = { max_hops = 101 }`))).toEqual([
      'team.toml:20:12: Team "t": max_hops must be more than 0 and at most 100, not 101',
    ])
    expect(problemsOf(team(`${router}\nbudget = { max_cost_usd = 0 }`))).toEqual([
      expect.stringMatching(/^team\.toml:20:12: Team "t": max_cost_usd must be more than 0/),
    ])
    expect(problemsOf(team(`${router}\n[prices."gpt-4.1"]\ninput = 2\noutput = -8`))).toEqual([
      'team.toml:22:1: prices.gpt-4.1.output: must be US dollars, a number from 0',
    ])
    expect(problemsOf(team(`${router}\n[prices."$\{MODEL}"]\ninput = 2\noutput = 8`))).toEqual([
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as the file has it
      'team.toml:20:9: prices.${MODEL}: must be the name of a model: variables are not replaced in keys',
    ])
    expect(problemsOf(team(`${router}\n[prices."gpt-4.1"]\ninput = 2\nouput = 8`))).toEqual([
      'team.toml:20:9: prices.gpt-4.1.output is missing',
      'team.toml:22:1: unknown key ouput (did you mean output?)',
    ])
    expect(problemsOf(team(`${router}\nversion = "one"`))).toEqual([
      expect.stringMatching(/^team\.toml:20:1: Team "t": "one" is not a semantic version/),
    ])
  })

  test.each([
    [
      'JSON',
      '{"agents": []}',
      '1:1',
      'this is JSON; Corral reads TOML, as "corral init" writes it',
    ],
    ['YAML', 'agents:\n  - id: a\n', '1:7', 'this looks like YAML; TOML writes key = "value"'],
    ['curly quotes', 'a = “x”\n', '1:5', 'use straight quotes: "'],
    ['a text without quotes', 'a = hello\n', '1:5', 'a text stands in quotes: "hello"'],
    [
      'a path with backslashes',
      'a = "C:\\Users"\n',
      '1:10',
      'a backslash in "…" begins an escape; write \'…\' around such a text',
    ],
    [
      'a quote that is not closed',
      "a = 'x\n",
      '1:7',
      'close the quote that is open, or use """ for a text of several lines',
    ],
    [
      'one table and a list of them',
      '[agents]\nid = "a"\n[[agents]]\n',
      '3:3',
      'a key, or a [table], stands once; several agents or teams are [[agents]] and [[teams]]',
    ],
  ])('%s', (_name, text, place, hint) => {
    const [line = ''] = problemsOf(text)
    expect(line).toContain(`team.toml:${place}: Invalid TOML document: `)
    expect(line).toContain(`(${hint})`)
  })

  test('a file without anything says how one begins', () => {
    for (const text of ['', '# nothing\n', '\uFEFF'])
      expect(problemsOf(text)).toEqual([
        'team.toml:1:1: the file has neither agents nor teams ("corral init" writes one to begin with)',
      ])
  })

  test('a file of which nothing is served', () => {
    const member = '[[agents]]\nid = "a"\nname = "A"\nendpoint = "./a.mjs"\nprotocol = "module"'
    expect(problemsOf(`${member}\nexpose = false`)).toEqual([
      'team.toml:6:1: nothing is served: there is no team, and expose is false for every agent (leave expose out where an agent is to be called, or add a team)',
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
