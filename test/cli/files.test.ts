import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, test } from 'vitest'
import { corral, main, temporary } from './corral.ts'
import { clerkAgent, writeFile } from './files.ts'

describe('corral validate', () => {
  test('names the teams and agents of a valid file', async () => {
    const file = writeFile(temporary())
    const page = await corral(['validate', file])
    expect(page).toMatchObject({ code: 0, stderr: '' })
    expect(page.stdout).toContain('Agents: clerk.')
    const { stdout } = await corral(['validate', file, '--json'])
    expect(JSON.parse(stdout)).toEqual({ valid: true, teams: [], agents: ['clerk'] })
  })

  test('shows every problem with line, column and hint', async () => {
    const text = clerkAgent().replace('name =', 'nmae =').replace('"module"', '"modul"')
    const file = writeFile(temporary(), text)
    const page = await corral(['validate', file])
    expect(page).toMatchObject({ code: 1, stdout: '' })
    expect(page.stderr).toContain(`${file}:4:1: unknown key nmae (did you mean name?)`)
    const { code, stdout } = await corral(['validate', file, '--json'])
    expect(code).toBe(1)
    const { valid, problems } = JSON.parse(stdout)
    expect(valid).toBe(false)
    expect(problems.length).toBeGreaterThan(1)
    expect(problems).toContainEqual(
      expect.objectContaining({ line: 4, column: 1, hint: 'did you mean name?' }),
    )
  })

  test('points at the character of an expression, a template or a pattern that is wrong', async () => {
    const team = (step: string): string => `${clerkAgent()}
[[teams]]
id = "desk"
name = "Desk"
description = ""
mode = "workflow"
[[teams.agents]]
agent_id = "clerk"
[[teams.scheduler_config.steps]]
agent_id = "clerk"
${step}
`
    const cases = [
      ['when = "previous.data.ok || stpes.a.ok"', 'stpes', 'stpes is not known here (did you mean'],
      ['input = "Dear {{ steps.nobody }}"', 'steps', 'there is no step nobody before this one'],
      ['output_schema.pattern = "ab(?!c)"', '(?!', 'pattern cannot be checked: looking ahead'],
    ] as const
    for (const [step, wrong, words] of cases) {
      const file = writeFile(temporary(), team(step))
      const line = team(step).split('\n').indexOf(step) + 1
      const column = step.indexOf(wrong) + 1
      const { code, stderr } = await corral(['validate', file])
      expect(code).toBe(1)
      expect(stderr).toContain(`${file}:${line}:${column}: Team "desk": `)
      expect(stderr).toContain(words)
      const { stdout } = await corral(['validate', file, '--json'])
      expect(JSON.parse(stdout).problems).toEqual([expect.objectContaining({ line, column })])
    }
  })

  test('shows where TOML itself is broken', async () => {
    const file = writeFile(temporary(), '[[agents]\nid = 1\n')
    const { code, stderr } = await corral(['validate', file])
    expect(code).toBe(1)
    expect(stderr).toMatch(/corral\.toml:1:\d+: /)
  })

  test('loads the modules, and names the agent of one that cannot be', async () => {
    const directory = temporary()
    const file = writeFile(directory)
    writeFileSync(join(directory, 'clerk.mjs'), 'export default 7')
    const { code, stderr } = await corral(['validate', file])
    expect(code).toBe(1)
    expect(stderr).toContain('Agent "clerk"')
  })

  test('warns of a router of whose members none can route', async () => {
    const agents = `${clerkAgent()}\n${clerkAgent('other')}`
    const team = `
[[teams]]
id = "desk"
name = "Desk"
description = ""
[[teams.agents]]
agent_id = "clerk"
[[teams.agents]]
agent_id = "other"
[teams.router_config]
default_agent_id = "clerk"
`
    const directory = temporary()
    const file = writeFile(directory, agents + team)
    const page = await corral(['validate', file])
    expect(page.code).toBe(0)
    expect(page.stderr).toContain(`${file}: warning: Team "desk": no member can route`)
    expect(page.stderr).toContain('"clerk" answers every message')
    const { stdout } = await corral(['validate', file, '--json'])
    expect(JSON.parse(stdout)).toMatchObject({
      valid: true,
      warnings: [expect.stringContaining('desk')],
    })
    const routed = agents.replace(
      'protocol = "module"',
      'protocol = "openai"\nmetadata = { api_key = "k" }',
    )
    const model = routed.replace(/endpoint = .*/, 'endpoint = "http://127.0.0.1:1/v1"')
    writeFile(directory, model + team)
    expect((await corral(['validate', file])).stderr).toBe('')
  })

  test('warns of what is said to a member beside what is none', async () => {
    const file = writeFile(
      temporary(),
      `${clerkAgent()}
[[teams]]
id = "desk"
name = "Desk"
description = ""
mode = "workflow"
agents = [{ agent_id = "clerk" }]
[[teams.scheduler_config.steps]]
timeout_seconds = 5
parallel = [{ agent_id = "clerk" }]
`,
    )
    const { code, stderr } = await corral(['validate', file])
    expect(code).toBe(0)
    expect(stderr).toMatch(
      /warning: line \d+, column 1: timeout_seconds beside parallel does nothing/,
    )
  })

  test('cannot run without the file', async () => {
    const stderr =
      'corral: There is no file none.toml\n"npx corral init" writes one to begin with.\n'
    for (const command of ['validate', 'serve', 'mcp'])
      expect(await corral([command, 'none.toml'])).toEqual({ code: 2, stdout: '', stderr })
  })
})

describe('corral mcp', () => {
  test('offers the agents of a file to an MCP client that starts it', async () => {
    const file = writeFile(temporary())
    const client = new Client({ name: 'test', version: '1.0.0' })
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [main, 'mcp', file],
    })
    await client.connect(transport)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['clerk'])
    const result = await client.callTool({ name: 'clerk', arguments: { message: 'hi' } })
    expect(result.content).toEqual([{ type: 'text', text: 'Echo: hi' }])
    await client.close()
  })
})
