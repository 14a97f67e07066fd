import type { Choices, MemberForm, ProjectFiles, ProjectForm, TeamForm } from './form.ts'
import { toTest } from './test.ts'

/** A project in TOML: a configuration, a module for each function, and a test. */
export function toTomlProject(form: ProjectForm, { model }: Choices): ProjectFiles {
  const modules = form.members.map((member) => [`agents/${member.id}.mjs`, toModule(member)])
  return {
    'corral.toml': toConfig(form, model),
    ...(model === undefined && Object.fromEntries(modules)),
    'test/team.test.mjs': toTest(form.test, {
      imports: [],
      subject: "'corral.toml'",
      options: "env: { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'none' }",
      hasModel: model !== undefined,
    }),
  }
}

function toConfig({ members, team }: ProjectForm, model: string | undefined): string {
  const about = [
    '#:schema ./node_modules/corral/schema/corral.schema.json',
    '# Serve it with: npm start, or corral serve corral.toml --watch',
  ]
  const agents = members.map((member) => toAgent(member, model))
  return `${[about, ...agents, ...(team ? toTeam(team, members) : [])].map(toBlock).join('\n')}`
}

function toAgent(member: MemberForm, model: string | undefined): readonly string[] {
  const { id, name, description, abilities, prompt } = member
  const about = [
    '[[agents]]',
    `id = ${quoted(id)}`,
    `name = ${quoted(name)}`,
    `description = ${quoted(description)}`,
  ]
  const can = `capabilities = [${abilities.map(quoted).join(', ')}]`
  if (model === undefined)
    return [...about, 'protocol = "module"', `endpoint = "./agents/${id}.mjs"`, can]
  return [
    ...about,
    'protocol = "openai"',
    `endpoint = "\${OPENAI_BASE_URL}"`,
    '',
    '[agents.model]',
    `name = ${quoted(model)}`,
    `system_prompt = ${quoted(prompt)}`,
  ]
}

function toTeam(
  { id, name, description, mode }: TeamForm,
  members: ProjectForm['members'],
): readonly (readonly string[])[] {
  const [first] = members
  const steps = members.map((member, index) => [
    '[[teams.scheduler_config.steps]]',
    `agent_id = ${quoted(member.id)}`,
    `order = ${index + 1}`,
  ])
  const schedulers: Readonly<Record<TeamForm['mode'], readonly (readonly string[])[]>> = {
    workflow: [['[teams.scheduler_config]', 'type = "workflow"'], ...steps],
    supervisor: [
      [
        '[teams.scheduler_config]',
        'type = "supervisor"',
        `supervisor_agent_id = ${quoted(first.id)}`,
      ],
    ],
    router: [['[teams.router_config]', `default_agent_id = ${quoted(first.id)}`]],
  }
  return [
    [
      '[[teams]]',
      `id = ${quoted(id)}`,
      `name = ${quoted(name)}`,
      `description = ${quoted(description)}`,
      `mode = ${quoted(mode)}`,
    ],
    ...members.map((member) => ['[[teams.agents]]', `agent_id = ${quoted(member.id)}`]),
    ...schedulers[mode],
  ]
}

function toModule({ id, description, code, streams }: MemberForm): string {
  return toBlock([
    `/** ${description}: the default export is the agent, a function of the message. */`,
    `export default ${streams ? 'async function*' : 'function'} ${id}(message) {`,
    "  const text = message.parts.map((part) => part.text ?? '').join(' ')",
    ...code.map((line) => `  ${line}`),
    '}',
  ])
}

/** TOML's basic strings are written as JSON's are. */
function quoted(text: string): string {
  return JSON.stringify(text)
}

function toBlock(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}
