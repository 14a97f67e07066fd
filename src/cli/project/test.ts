import type { TestForm } from './form.ts'

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
export function toTest(
  test: TestForm,
  { imports, subject, options, hasModel }: TestSubject,
): string {
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
    ...(hasModel ? toModel(test) : []),
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

function toModel({ script }: TestForm): readonly string[] {
  return [
    '  // Says these answers in this order, in place of the service that costs money.',
    '  const model = await openModelServer([',
    ...script.map((answer) => `    ${answer},`),
    '  ])',
    '  t.after(() => model.close())',
  ]
}
