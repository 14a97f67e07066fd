import fc from 'fast-check'
import { parse, stringify } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { createLocate } from '../../../src/app/config/locate.ts'

const text = `# a comment with [brackets]
top = 1
multi = """
[not.a.table]
key = "no"
"""
list = [
  "a = 1",
  { b = 2 },
]

[[teams]]
id = "one"
  [teams.provider]
  url = "https://x"
[[teams.agents]]
agent_id = "a"
[[teams.agents]]
agent_id = "b"

[[teams]]
id = 'two' # [[teams]]
provider.url = "https://y"
"quoted key" = true
[[teams.agents]]
agent_id = "c"
`

describe('where a value stands', () => {
  const locate = createLocate(text)

  test.each([
    [['top'], 2, 1],
    [['multi'], 3, 1],
    [['list', 1, 'b'], 7, 1],
    [['teams', 0], 12, 1],
    [['teams', 0, 'id'], 13, 1],
    [['teams', 0, 'provider'], 14, 3],
    [['teams', 0, 'provider', 'url'], 15, 3],
    [['teams', 0, 'agents', 1, 'agent_id'], 19, 1],
    [['teams', 1, 'id'], 22, 1],
    [['teams', 1, 'provider', 'url'], 23, 1],
    [['teams', 1, 'quoted key'], 24, 1],
    [['teams', 1, 'agents', 0, 'agent_id'], 26, 1],
    [['teams', 1, 'agents', 0, 'missing'], 25, 1],
    [['nowhere'], 1, 1],
  ])('%j is at line %i, column %i', (path, line, column) => {
    expect(locate(path)).toEqual({ line, column })
  })

  test('every key of a file is found on the line that assigns it', () => {
    const key = fc.stringMatching(/^[a-z][a-z0-9_-]{0,8}$/)
    const scalar = fc.oneof(fc.integer(), fc.boolean(), fc.string())
    const table = fc.dictionary(key, scalar, { maxKeys: 4 })
    const file = fc.dictionary(key, fc.array(table, { minLength: 1, maxLength: 3 }), { maxKeys: 3 })
    fc.assert(
      fc.property(file, (value) => {
        const written = stringify(value)
        const lines = written.split('\n')
        const find = createLocate(written)
        for (const [name, items] of Object.entries(parse(written)))
          for (const [index, item] of Object.entries(items as object)) // lists of tables, by construction
            for (const inner of Object.keys(item as object)) {
              const { line } = find([name, Number(index), inner])
              expect(lines[line - 1]).toMatch(new RegExp(`^${inner} = `))
            }
      }),
    )
  })
})
