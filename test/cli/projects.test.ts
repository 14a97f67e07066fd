import { afterAll, beforeAll, describe, test } from 'vitest'
import { type PackedHome, packHome, someForms } from './projects.ts'

describe('a project of corral init installs the package, passes its test, starts and answers', () => {
  let home: PackedHome
  beforeAll(async () => {
    home = await packHome()
  }, 180_000)
  afterAll(() => home.remove(), 180_000)

  test.each(someForms.slice(0, 2))(
    '$language, $kind, $answers',
    (form) => home.prove(form),
    180_000,
  )
})
