import { clientRoutingExtension } from '../../index.ts'
import {
  type Choices,
  forms,
  type MemberForm,
  type ProjectFiles,
  type ProjectForm,
  type TeamForm,
  type TestForm,
} from './forms.ts'

/** What a project's surroundings depend on. */
export interface ProjectFacts extends Choices {
  /** The project's name, as packages have them. */
  readonly name: string
  /** The version of this package, and of those that it is built with. */
  readonly versions: Readonly<Record<'corral' | 'typescript' | '@types/node' | 'tsx', string>>
  /** Whether Node runs TypeScript by itself. */
  readonly runsTypeScript: boolean
}

/** What a project is made of. */
export interface Project {
  /** What is the project's own: none of these may be there already. */
  readonly own: ProjectFiles
  /** What stands around it: a file that is there already stays. */
  readonly around: ProjectFiles
}

/** Makes the files of a project. */
export function toProject(facts: ProjectFacts): Project {
  const form = forms[facts.kind]
  const own =
    facts.language === 'ts' ? toTypeScriptProject(form, facts) : toTomlProject(form, facts)
  return { own, around: toSurroundings(facts) }
}

/** A project in TypeScript: its agents, what serves them, and a test. */
function toTypeScriptProject(form: ProjectForm, { model }: Choices): ProjectFiles {
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
    ...(team
      ? ['', `export const team: Team = defineTeam({`, ...toTypeScriptTeam(team, members), '})']
      : []),
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

function toText(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}

function toTypeScriptTeam(
  { id, name, description, mode }: TeamForm,
  members: ProjectForm['members'],
) {
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

function toModels(
  { members, team }: ProjectForm,
  { maker, model }: { readonly maker: string; readonly model: string },
): string {
  const [first] = members
  const made = team
    ? [
        '  return defineTeam({',
        ...toTypeScriptTeam(team, members).map((line) => `  ${line}`),
        '  })',
      ]
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
    "import { createConsole } from 'corral/console'",
    "import { serve } from 'corral/server'",
    `import { ${hasModel ? maker : what} } from './${what}.ts'`,
    '',
    ...(hasModel ? made : []),
    'const port = Number(process.env.PORT ?? 3000)',
    `const { url } = await serve(${what}, { port, console: createConsole() })`,
    `console.log(\`${name} is served at \${url}\`)`,
    `console.log(\`Open \${url}/console/ to see it work\`)`,
  ])
}

/** How a test gets at what it tests, as code. */
interface TestSubject {
  readonly imports: readonly string[]
  /** What is run; `model` is the scripted service, where there is one. */
  readonly subject: string
  /** Further options of the run, where there is a model. */
  readonly options?: string
  readonly hasModel: boolean
}

/** The test of a project, for Node's own test runner. */
function toTest(test: TestForm, { imports, subject, options, hasModel }: TestSubject): string {
  const members = hasModel ? test.modelMembers : test.members
  const answer = hasModel ? test.modelAnswer : test.answer
  const tools = hasModel ? 'openModelServer, runTeam' : 'runTeam'
  const given = hasModel && options ? `, {\n    ${options},\n  }` : ''
  const asked = members.map((id) => `'${id}'`).join(', ')
  return [
    "import assert from 'node:assert/strict'",
    "import { test } from 'node:test'",
    `import { ${tools} } from 'corral/testing'`,
    ...imports,
    '',
    `test('${test.name}', async (${hasModel ? 't' : ''}) => {`,
    ...(hasModel ? toTestModel(test) : []),
    `  const { text${asked ? ', delegations' : ''} } = await runTeam(${subject}, '${test.text}'${given})`,
    `  assert.equal(text, '${answer}')`,
    ...(asked
      ? [
          `  const asked = delegations.map(({ member }) => member)`,
          `  assert.deepEqual(asked, [${asked}])`,
        ]
      : []),
    '})',
    '',
  ].join('\n')
}

function toTestModel({ script }: TestForm): readonly string[] {
  return [
    '  // Says these answers in this order, in place of the service that costs money.',
    '  const model = await openModelServer([',
    ...script.map((answer) => `    ${answer},`),
    '  ])',
    '  t.after(() => model.close())',
  ]
}

/** A project in TOML: a configuration, a module for each function, and a test. */
function toTomlProject(form: ProjectForm, { model }: Choices): ProjectFiles {
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

function toModule({ id, description, code, streams }: MemberForm): string {
  return toText([
    `/** ${description}: the default export is the agent, a function of the message. */`,
    `export default ${streams ? 'async function*' : 'function'} ${id}(message) {`,
    "  const text = message.parts.map((part) => part.text ?? '').join(' ')",
    ...code.map((line) => `  ${line}`),
    '}',
  ])
}

function toConfig({ members, team }: ProjectForm, model: string | undefined): string {
  const about = [
    '#:schema ./node_modules/corral/schema/corral.schema.json',
    '# Serve it with: npm start, or corral serve corral.toml --watch',
  ]
  const agents = members.map((member) => toAgent(member, model))
  return `${[about, ...agents, ...(team ? toTeam(team, members) : [])].map(toText).join('\n')}`
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

/** TOML's basic strings are written as JSON's are. */
function quoted(text: string): string {
  return JSON.stringify(text)
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

const tsconfig = {
  compilerOptions: {
    target: 'ES2023',
    module: 'NodeNext',
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'ESNext.Disposable'],
    types: ['node'],
    strict: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ['src', 'test'],
}

/** What stands around the agents of a project: a project may have these files already. */
function toSurroundings(facts: ProjectFacts): ProjectFiles {
  const isTypeScript = facts.language === 'ts'
  return {
    'package.json': `${JSON.stringify(toManifest(facts), null, 2)}\n`,
    ...(isTypeScript && { 'tsconfig.json': `${JSON.stringify(tsconfig, null, 2)}\n` }),
    ...(facts.model !== undefined && { '.env.example': toVariables() }),
    '.gitignore': 'node_modules/\n.corral/\n.env\n',
    'README.md': toReadme(facts),
  }
}

function toManifest(facts: ProjectFacts): object {
  const { name, language, kind, model, versions, runsTypeScript } = facts
  const isTypeScript = language === 'ts'
  const run = runsTypeScript ? 'node' : 'node --import tsx'
  const subject = kind === 'agent' ? 'agent' : 'team'
  const scripts = isTypeScript
    ? {
        start: `${run} --watch src/main.ts`,
        test: `${run} --test test/${subject}.test.ts`,
        check: 'tsc --noEmit',
      }
    : {
        start: `corral serve corral.toml --watch${model === undefined ? '' : ' --env .env'}`,
        test: 'node --test test/team.test.mjs',
      }
  const tools = {
    '@types/node': `^${versions['@types/node']}`,
    ...(!runsTypeScript && { tsx: `^${versions.tsx}` }),
    typescript: `^${versions.typescript}`,
  }
  return {
    name,
    private: true,
    type: 'module',
    engines: { node: isTypeScript && runsTypeScript ? '>=22.18' : '>=20.19' },
    scripts,
    dependencies: { corral: `^${versions.corral}` },
    ...(isTypeScript && { devDependencies: tools }),
  }
}

function toVariables(): string {
  return [
    '# Copy this file to .env. Any OpenAI-compatible service will do.',
    'OPENAI_BASE_URL=https://api.openai.com/v1',
    'OPENAI_API_KEY=',
    '',
  ].join('\n')
}

function toReadme({ name, language, kind, model }: ProjectFacts): string {
  const subject = kind === 'agent' ? 'agent' : 'team'
  const place = language === 'ts' ? `src/${subject}.ts` : 'corral.toml'
  return [
    `# ${name}`,
    '',
    `${kind === 'agent' ? 'An agent' : `A team (${kind})`}, served over A2A with Corral. It is made in \`${place}\`.`,
    '',
    '```sh',
    'npm install',
    'npm test                                      # offline',
    ...(model === undefined
      ? []
      : ['cp .env.example .env                          # then fill in the key']),
    'npm start                                     # serves it at http://localhost:3000, and again when a file changes',
    '# Open http://localhost:3000/console/ to see it work.',
    'npx corral chat http://localhost:3000         # talks with it',
    '```',
    '',
  ].join('\n')
}
