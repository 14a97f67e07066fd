import fc from 'fast-check'
import { parse, stringify } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { createLocate } from '../../../src/app/config/locate.ts'
import { valueAt } from '../../../src/app/config/values.ts'

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
    [['list'], 7, 1],
    [['list', 0], 8, 3],
    [['list', 1], 9, 3],
    [['list', 1, 'b'], 9, 5],
    [['teams', 0], 12, 1],
    [['teams', 0, 'id'], 13, 1],
    [['teams', 0, 'provider'], 14, 10],
    [['teams', 0, 'provider', 'url'], 15, 3],
    [['teams', 0, 'agents', 1, 'agent_id'], 19, 1],
    [['teams', 1, 'id'], 22, 1],
    [['teams', 1, 'provider'], 23, 1],
    [['teams', 1, 'provider', 'url'], 23, 10],
    [['teams', 0, 'agents'], 16, 9],
    [['teams', 1, 'quoted key'], 24, 1],
    [['teams', 1, 'agents', 0, 'agent_id'], 26, 1],
    [['teams', 1, 'agents', 0, 'missing'], 25, 1],
    [['nowhere'], 1, 1],
  ])('%j is at line %i, column %i', (path, line, column) => {
    expect(locate(path)).toEqual({ line, column })
  })

  test.each<[string, string, PropertyKey[], string]>([
    ['an inline table', 'a = { b = 1, "c d" = { e = 2 } }', ['a', 'c d', 'e'], '1:24'],
    ['an inline table over lines', 'a = {\n  b = 1, # b\n  c = 2,\n}', ['a', 'c'], '3:3'],
    ['a list of lists', 'a = [[1, 2], [3, { b = 4 }]]', ['a', 1, 1, 'b'], '1:20'],
    ['a list with comments', 'a = [ # ]\n  1, # [\n  2\n]\nb = 1', ['b'], '5:1'],
    ['after a string with brackets', 'a = ["]", \'[\', "\\"]"]\nb = 1', ['b'], '2:1'],
    ['after a long string with quotes', 'a = """x"" y\n= " \\""""""\nb = 1', ['b'], '3:1'],
    ['after a long literal', "a = '''\n[b]\nb = 2'''\nb = 1", ['b'], '4:1'],
    ['after a date with a blank', 'a = [1979-05-27 07:32:00, 1]\nb = 1', ['a', 1], '1:27'],
    ['a dotted key', 'a . "b" . c = 1', ['a', 'b', 'c'], '1:11'],
    ['a dotted header', '[a.b]\nc = 1\n[a.b.d]\n', ['a', 'b', 'd'], '3:6'],
    ['a quoted key with an escape', '"a\\u0062" = { c = 1 }', ['ab', 'c'], '1:15'],
    ['a name with a dot in it', '["a.b".c]\nd = 1', ['a.b', 'c', 'd'], '2:1'],
    ['behind tabs', '\t\ta\t=\t{\tb = 1 }', ['a', 'b'], '1:9'],
    ['with CRLF', 'a = 1\r\n\r\n[b]\r\nc = { d = 1 }\r\n', ['b', 'c', 'd'], '4:7'],
    [
      'behind letters of several bytes',
      '"äöü" = { é = 1, b = 2 }'.replace('é', '"é"'),
      ['äöü', 'b'],
      '1:20',
    ],
    ['behind a byte order mark', '\uFEFFa = { b = 1 }', ['a', 'b'], '1:7'],
    [
      'nested lists of tables',
      '[[a]]\n[[a.b]]\n[[a.b]]\nc = [\n  { d = 1 },\n]',
      ['a', 0, 'b', 1, 'c', 0, 'd'],
      '5:5',
    ],
    ['an empty list and table', 'a = []\nb = {}\nc = 1', ['c'], '3:1'],
  ])('is right within or %s', (_name, written, path, place) => {
    parse(written)
    const { line, column } = createLocate(written)(path)
    expect(`${line}:${column}`).toBe(place)
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

describe('where a character of a string stands', () => {
  test.each([
    ['a basic string', 'a = "one X"'],
    ['a literal string', "a = 'C:\\new X'"],
    ['escapes', 'a = "\\t\\"\\u00e9\\\\ X"'],
    ['a code of eight digits', 'a = "\\U0001F600\\U000000e9X"'],
    ['a multi-line string', 'a = """\none\n  two X"""'],
    ['a multi-line string on one line', 'a = """one "two" X"""'],
    ['line breaks of Windows', 'a = """\r\none\r\ntwo X"""'],
    ['a line that goes on in the next', 'a = """one \\  \n\n   two X"""'],
    ['a line that goes on with it', 'a = """one \\\n   X"""'],
    ['a multi-line literal', "a = '''\none\\\ntwo X'''"],
    ['a string in an inline table', 'b = [{ a = "x" }, { a = "one X" }]'],
    ['a string behind a dotted key', "c.d = { e.a = 'one X' }"],
  ])('%s', (_, written) => {
    const path = [['b', 1, 'a'], ['c', 'd', 'e', 'a'], ['a']].find((one) =>
      valueAt(parse(written), one),
    )
    const offset = String(valueAt(parse(written), path ?? [])).indexOf('X')
    expect(characterAt(written, createLocate(written)(path ?? [], offset))).toBe('X')
  })

  test('whatever stands before it', () => {
    const words = fc.string({
      unit: fc.constantFrom('a', ' ', '"', "'", '\\', '\n', '\t', 'é', '😀', '\\U'),
    })
    fc.assert(
      fc.property(words, words, fc.constantFrom(...forms), (before, after, toWritten) => {
        const written = `first = 1\na = ${toWritten(`${before}X${after}`)}`
        const offset = String(parse(written).a).indexOf('X')
        expect(offset).toBe(before.length)
        expect(characterAt(written, createLocate(written)(['a'], offset))).toBe('X')
      }),
    )
  })
})

/** Ways to write a string. */
const forms: readonly ((text: string) => string)[] = [
  (text) => JSON.stringify(text),
  (text) => `"${[...text].map((one) => (one === 'X' ? one : toEscape(one))).join('')}"`,
  (text) => `"""\n${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"""`,
  (text) => `"""${JSON.stringify(text).slice(1, -1).replaceAll(' ', '\\\n  \\u0020')}"""`,
]

function toEscape(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return `\\U${code.toString(16).padStart(8, '0')}`
}

function characterAt(text: string, { line, column }: { line: number; column: number }): string {
  return text.split('\n')[line - 1]?.charAt(column - 1) ?? ''
}
