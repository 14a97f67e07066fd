import type { Choices, ProjectFiles } from './form.ts'

/** What a project's surroundings depend on. */
export interface ProjectFacts extends Choices {
  /** The project's name, as packages have them. */
  readonly name: string
  /** The version of this package, and of those that it is built with. */
  readonly versions: Readonly<Record<'corral' | 'typescript' | '@types/node' | 'tsx', string>>
  /** Whether Node runs TypeScript by itself. */
  readonly runsTypeScript: boolean
}

/** What stands around the agents of a project: a project may have these files already. */
export function toSurroundings(facts: ProjectFacts): ProjectFiles {
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
        start: `${run} src/main.ts`,
        test: `${run} --test test/${subject}.test.ts`,
        check: 'tsc --noEmit',
      }
    : {
        start: `corral serve corral.toml${model === undefined ? '' : ' --env .env'}`,
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
    'npm start                                     # serves it at http://localhost:3000',
    'npx corral chat http://localhost:3000         # talks with it',
    '```',
    '',
  ].join('\n')
}
