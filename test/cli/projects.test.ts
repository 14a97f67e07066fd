import { afterAll, beforeAll, describe, test } from 'vitest'
import { type PackedHome, type ProjectForm, packHome } from './projects.ts'

/** One of each kind, language and way to answer; `npm run test:slow` takes all of them. */
const selection: readonly ProjectForm[] = [
  { language: 'toml', kind: 'workflow', answers: 'offline' },
  { language: 'toml', kind: 'router', answers: 'model' },
  { language: 'ts', kind: 'supervisor', answers: 'offline' },
  { language: 'ts', kind: 'agent', answers: 'model' },
]

describe('a project of corral init installs the package, passes its test, starts and answers', () => {
  let home: PackedHome
  beforeAll(async () => {
    home = await packHome()
  }, 180_000)
  afterAll(() => home.remove(), 180_000)

  test.each(selection)('$language, $kind, $answers', (form) => home.prove(form), 180_000)
})
