import { afterAll, beforeAll, describe, test } from 'vitest'
import { type PackedHome, packHome, projectForms } from '../../test/cli/projects.ts'
import { thorough } from '../../test/support/thorough.ts'

/** Every kind in every language, in one of the two ways to answer. */
const halfOfThem = projectForms.filter((_, at) => (at + (at >> 1) + (at >> 3)) % 2 === 0)

describe('every project of corral init installs the package, passes its test, starts and answers', () => {
  let home: PackedHome
  beforeAll(async () => {
    home = await packHome()
  })
  afterAll(() => home.remove())

  test.each(thorough(halfOfThem, projectForms))('$language, $kind, $answers', (form) =>
    home.prove(form),
  )
})
