import { describe, expect, test } from 'vitest'
import { faultsOf } from './house.ts'

describe('provenance', () => {
  const breaches = [
    "000's Team",
    'as in 003, the store',
    'C-27',
    'R-12',
    'T-W8',
    'S001-72…75',
    'seed-checklist §3.2',
    "the seed's rules",
    "the seeds' three keys",
    "seed 002's state machine",
    'AT-10',
  ]
  test.each(breaches)('names %s', (code) => {
    expect(faultsOf('provenance', { 'engine/a.ts': `\n/** What this is (${code}). */\n` })).toEqual(
      [expect.stringMatching(/^engine\/a\.ts:2: says /)],
    )
  })

  test.each([
    'A2A §3.3.4',
    'the seed of the run',
    '-32001',
    "'001'",
    'RFC 9562',
    'UTF-8',
    'task_003',
    '1,000 and 30 000',
  ])('leaves %s alone', (words) => {
    expect(faultsOf('provenance', { 'engine/a.ts': `// ${words}\n` })).toEqual([])
  })
})

describe('regular expressions', () => {
  const faults = (code: string): string[] =>
    faultsOf('expressions', { 'network/url.ts': `${code}\n` })

  test.each([
    'const a = /\\.+$/',
    'const a = /[.!]+$/u',
    'const a = /^_+|_+$/g',
    'const a = /\\s*$/',
    'const a = /#.*$/',
    'const a = /(?:ab)*$/',
    'const a = /(x+)$/',
    'const a = /^(.+?)\\s*$/',
    'const a = /^\\d+\\.?\\d*$/',
    'const a = /\\s+,/',
    'const a = new RegExp("/+$")',
    'const a = /.*.*x/',
    'const a = /^.*.*x/',
    'const a = /^(a+)+$/',
    'const a = /^(?:\\s+\\w*)+$/',
    'const a = /^(?:[^"]+|\\\\.)*"/',
    'const a = /^(?:\\w|\\d)*!/',
    'const a = /^(?:x(?:y*)*)*z/',
  ])('%s is refused', (code) => {
    expect(faults(code)).toEqual([
      expect.stringMatching(/^network\/url\.ts:1: .*square of the text/),
    ])
  })

  test.each([
    'const a = /^\\w+$/',
    'const a = /;[^;]*$/',
    'const a = /,\\s*$/',
    'const a = /\\s+/g',
    'const a = /a{1,9}$/',
    'const a = /^bearer\\s+(\\S+)\\s*$/i',
    'const a = /^[^/]+(?:\\/[^/]+)*$/',
    'const a = /[+$]/',
    'const a = /^"(?:[^"\\\\]|\\\\.)*"/',
    'const a = /^(?:\\w+,)*$/',
    'const a = /^\\w+(?:-\\w+)*$/',
    'const a = /^(?:\\s*,\\s*x)*$/',
    'const a = /\\d+\\$?/',
    'const a = /(_{1,3})[a-z]\\1/u',
    'const a = /x+$/ // bounded: a line of our own log',
    '// bounded: at most 253 characters\nconst a = /x+$/',
  ])('%s is not', (code) => {
    expect(faults(code)).toEqual([])
  })
})

describe('trimming', () => {
  test.each([
    "while (text.endsWith('.')) text = text.slice(0, -1)",
    'for (;;) { if (done) break; this.#rest = this.#rest.substring(1) }',
    "do { text = text.replace('..', '.') } while (text.includes('..'))",
  ])('%s is refused', (code) => {
    expect(faultsOf('trimming', { 'network/url.ts': `${code}\n` })).toEqual([
      expect.stringMatching(/^network\/url\.ts:1: a loop that cuts its text/),
    ])
  })

  test.each([
    'text = text.slice(1)',
    'while (more()) part = text.slice(at)',
    'while (more()) text = other.slice(1)',
  ])('%s is not', (code) => {
    expect(faultsOf('trimming', { 'network/url.ts': `${code}\n` })).toEqual([])
  })
})

describe('accessors', () => {
  test.each(['{ get size() { return 1 } }', '{ a: 1, set size(to) {} }'])(
    '%s is refused',
    (code) => {
      expect(faultsOf('accessors', { 'engine/a.ts': `const a = ${code}\n` })).toEqual([
        'engine/a.ts:1: an accessor of one object; make a class',
      ])
    },
  )

  test('a class may have them, and so may what is made once', () => {
    const made = 'class A {\n  get size(): number { return 1 }\n}\n'
    expect(faultsOf('accessors', { 'engine/a.ts': made })).toEqual([])
    expect(
      faultsOf('accessors', { 'cli/screen.ts': 'const a = { get b() { return 1 } }\n' }),
    ).toEqual([])
  })
})

test('URLs are read, not asked about', () => {
  expect(faultsOf('urls', { 'client/a.ts': 'const is = URL.canParse(text)\n' })).toEqual([
    expect.stringMatching(/^client\/a\.ts:1: URL\.canParse refuses/),
  ])
  expect(faultsOf('urls', { 'client/a.ts': 'const url = new URL(text)\n' })).toEqual([])
})

describe('time', () => {
  test.each([
    'Date.now()',
    'performance.now()',
    'setTimeout(f, 1)',
    'setInterval(f, 1)',
    'new Date()',
  ])('is not asked of the machine: %s', (code) => {
    expect(faultsOf('clock', { 'engine/a.ts': `// first\nconst a = ${code}\n` })).toEqual([
      expect.stringMatching(/^engine\/a\.ts:2: .* passes the clock by$/),
    ])
  })

  test.each(['clock.now()', 'new Date(ms)', 'clearTimeout(a)', '// Date.now()'])(
    'is asked of a clock, or of nobody: %s',
    (code) => {
      expect(faultsOf('clock', { 'engine/a.ts': `${code}\n` })).toEqual([])
    },
  )

  test("is the clock's to ask", () => {
    expect(faultsOf('clock', { 'shared/clock.ts': 'const now = Date.now()\n' })).toEqual([])
  })
})

describe('output', () => {
  test.each(['process.stdout.write(a)', 'process.stderr', 'console.log(a)', 'console.error(a)'])(
    'passes no screen by: %s',
    (code) => {
      expect(faultsOf('output', { 'cli/commands/a.ts': `// first\n${code}\n` })).toEqual([
        expect.stringMatching(/^cli\/commands\/a\.ts:2: .* passes the screen by$/),
      ])
    },
  )

  test.each(['stdout.write(a)', 'process.stdin', 'child.stdout', '// console.log(a)'])(
    'may leave so: %s',
    (code) => {
      expect(faultsOf('output', { 'cli/commands/a.ts': `${code}\n` })).toEqual([])
    },
  )

  test("is the screen's to write", () => {
    expect(faultsOf('output', { 'cli/screen.ts': 'process.stdout.write(a)\n' })).toEqual([])
  })
})

describe('order', () => {
  const helper = 'function half(n: number): number {\n  return n > 1 ? half(n / 2) : n\n}\n'
  const main = 'export function main(): number {\n  return half(4)\n}\n'

  test('a helper above its first use is named', () => {
    expect(faultsOf('order', { 'engine/a.ts': `${helper}${main}` })).toEqual([
      'engine/a.ts:1: half stands above its first use; put it below',
    ])
  })

  test('a helper below its first use may have further uses below', () => {
    const planted = `${main}${helper}export const two = half(4)\n`
    expect(faultsOf('order', { 'engine/a.ts': planted })).toEqual([])
  })
})

describe('casts', () => {
  test('through unknown are named, whatever is said beside them', () => {
    const planted = { 'engine/a.ts': 'const a = b as unknown as Task // it is one\n' }
    expect(faultsOf('casts', planted)).toEqual(['engine/a.ts:1: a double cast'])
  })

  test('need a word why they are true', () => {
    expect(faultsOf('casts', { 'engine/a.ts': '\nconst a = b as Task\n' })).toEqual([
      'engine/a.ts:2: a cast without a word why it is true',
    ])
  })

  test.each([
    'const a = b as Task // just checked',
    '// just checked\nconst a = b as Task',
    'const a = b as const',
    'const a = b as unknown',
    "import { b as Task } from './b.ts'",
  ])('%s is fine', (code) => {
    expect(faultsOf('casts', { 'engine/a.ts': `${code}\n` })).toEqual([])
  })
})

describe('lengths', () => {
  const lines = (count: number, line: string): string => `${line}\n`.repeat(count)

  test('name a long file', () => {
    expect(faultsOf('lengths', { 'engine/a.ts': lines(601, '//') })).toEqual([
      'engine/a.ts: 601 lines, at most 600',
    ])
    expect(faultsOf('lengths', { 'engine/a.ts': lines(600, '//') })).toEqual([])
  })

  test('name a long function, whatever makes it', () => {
    const body = lines(79, '  step()')
    const planted = {
      'engine/a.ts': `function declared() {\n${body}}\n`,
      'engine/b.ts': `const arrow = () => {\n${body}}\n`,
      'engine/c.ts': `class A {\n  method() {\n${body}}\n}\n`,
    }
    expect(faultsOf('lengths', planted)).toEqual([
      'engine/a.ts:1: declared has 81 lines, at most 60 outside tables',
      'engine/b.ts:1: arrow has 81 lines, at most 60 outside tables',
      'engine/c.ts:2: method has 81 lines, at most 60 outside tables',
    ])
  })

  test('count the functions within a function', () => {
    const inner = `  const inner = () => {\n${lines(40, '    step()')}  }\n`
    expect(
      faultsOf('lengths', { 'engine/a.ts': `function outer() {\n${inner}${inner}}\n` }),
    ).toEqual(['engine/a.ts:1: outer has 86 lines, at most 60 outside tables'])
  })

  test('leave tables out', () => {
    const table = `  const table = {\n${Array.from({ length: 90 }, (_, at) => `    k${at}: ${at},\n`).join('')}  }\n`
    expect(faultsOf('lengths', { 'engine/a.ts': `function f() {\n${table}}\n` })).toEqual([])
  })
})
