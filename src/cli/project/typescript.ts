import { clientRoutingExtension } from '../../index.ts'
import type { Choices, MemberForm, ProjectFiles, ProjectForm, TeamForm } from './form.ts'
import { toTest } from './test.ts'

/** A project in TypeScript: its agents, what serves them, and a test. */
export function toTypeScriptProject(form: ProjectForm, { model }: Choices): ProjectFiles {
  const what = form.team ? 'team' : 'agent'
  const maker = form.team ? 'createTeam' : 'createAgent'
  const name = model === undefined ? what : maker
  const subject = `${maker}({ endpoint: model.url, apiKey: 'none' })`
  return {
    [`src/${what}.ts`]: model === undefined ? toOffline(form) : toModels(form, { maker, model }),
    'src/main.ts': toMain(form, { what, maker, hasModel: model !== undefined }),
    [`test/${what}.test.ts`]: toTest(form.test, {
      imports: [`import { ${name} } from '../src/${what}.ts'`],
      subject: model === undefined ? what : subject,
      hasModel: model !== undefined,
    }),
  }
}

function toOffline({ members, team }: ProjectForm): string {
  const routes = members.some(({ abilities }) => abilities.includes(clientRoutingExtension))
  const agents = members.map((member) => toFunction(member, team ? 'const' : 'export const'))
  return toText([
    `import { ${routes ? 'clientRoutingExtension, ' : ''}textOf } from 'corral'`,
    `import { ${team ? 'defineAgent' : 'type Agent, defineAgent'} } from 'corral/agents'`,
    ...(team ? ["import { defineTeam, type Team } from 'corral/team'"] : []),
    ...agents.flat(),
    ...(team ? ['', `export const team: Team = defineTeam({`, ...toTeam(team, members), '})'] : []),
  ])
}

function toFunction(member: MemberForm, declaration: string): readonly string[] {
  const { id, name, description, abilities, code, streams } = member
  const [variable, type] = declaration === 'const' ? [id, ''] : ['agent', ': Agent']
  const can = abilities.map((one) =>
    one === clientRoutingExtension ? 'clientRoutingExtension' : `'${one}'`,
  )
  return [
    '',
    `${declaration} ${variable}${type} = defineAgent(`,
    `  {`,
    `    name: '${name}',`,
    `    description: '${description}',`,
    `    abilities: [${can.join(', ')}],`,
    `  },`,
    streams ? '  async function* (message) {' : '  (message) => {',
    '    const text = textOf(message.parts)',
    ...code.map((line) => `    ${line}`),
    '  },',
    ')',
  ]
}

function toModels(
  { members, team }: ProjectForm,
  { maker, model }: { readonly maker: string; readonly model: string },
): string {
  const [first] = members
  const made = team
    ? ['  return defineTeam({', ...toTeam(team, members).map((line) => `  ${line}`), '  })']
    : [`  return ${first.id}`]
  return toText([
    `import { ${team ? 'OpenAIAgent' : 'type Agent, OpenAIAgent'} } from 'corral/agents'`,
    ...(team ? ["import { defineTeam, type Team } from 'corral/team'"] : []),
    '',
    '/** An OpenAI-compatible service. */',
    'export interface ModelService {',
    '  readonly endpoint: string',
    '  readonly apiKey: string',
    '}',
    '',
    `export function ${maker}(service: ModelService): ${team ? 'Team' : 'Agent'} {`,
    `  const rules = { model: '${model}', timeoutSeconds: 60, maxRetries: 2 }`,
    ...members.flatMap(toModel),
    ...made,
    '}',
  ])
}

function toModel({ id, name, description, prompt }: MemberForm): readonly string[] {
  return [
    `  const ${id} = new OpenAIAgent({`,
    '    ...service,',
    '    ...rules,',
    `    id: '${id}',`,
    `    name: '${name}',`,
    `    description: '${description}',`,
    `    systemPrompt: '${prompt}',`,
    '  })',
  ]
}

function toTeam({ id, name, description, mode }: TeamForm, members: ProjectForm['members']) {
  const [first] = members
  const steps = members.map((member) => `{ agentId: '${member.id}' }`).join(', ')
  const schedulers: Readonly<Record<TeamForm['mode'], string>> = {
    workflow: `{ type: 'workflow', steps: [${steps}] }`,
    supervisor: `{ type: 'supervisor', supervisorAgentId: '${first.id}' }`,
    router: `{ type: 'router', defaultAgentId: '${first.id}' }`,
  }
  return [
    `  id: '${id}',`,
    `  name: '${name}',`,
    `  description: '${description}',`,
    `  agents: { ${members.map((member) => member.id).join(', ')} },`,
    `  scheduler: ${schedulers[mode]},`,
  ]
}

interface Served {
  readonly what: string
  readonly maker: string
  readonly hasModel: boolean
}

function toMain({ members, team }: ProjectForm, { what, maker, hasModel }: Served): string {
  const { name } = team ?? members[0]
  const made = [
    "if (existsSync('.env')) process.loadEnvFile()",
    'const { OPENAI_BASE_URL, OPENAI_API_KEY: apiKey } = process.env',
    "const endpoint = OPENAI_BASE_URL || 'https://api.openai.com/v1'",
    "if (!apiKey) throw new Error('Set OPENAI_API_KEY: copy .env.example to .env and fill it in')",
    `const ${what} = ${maker}({ endpoint, apiKey })`,
    '',
  ]
  return toText([
    ...(hasModel ? ["import { existsSync } from 'node:fs'"] : []),
    "import { createServer, runServer } from 'corral/server'",
    `import { ${hasModel ? maker : what} } from './${what}.ts'`,
    '',
    ...(hasModel ? made : []),
    `const server = await createServer({ agents: [${what}] })`,
    'const port = Number(process.env.PORT ?? 3000)',
    "const { url } = await runServer(server, { port, host: '127.0.0.1', signals: true })",
    `console.log(\`${name} is served at \${url}\`)`,
  ])
}

function toText(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}
