import { describe, expect, test } from 'vitest'
import { checks } from '../../../scripts/check/checks.ts'
import { checkContracts } from '../../../scripts/check/contracts.ts'
import { createTree } from '../../../scripts/check/tree.ts'
import { facts, faultsOf, house } from './house.ts'

describe('the house without a breach', () => {
  const rules = Object.keys(checks).filter((rule) => rule !== 'contracts')
  test.each(rules)('%s', (rule) => {
    expect(faultsOf(rule)).toEqual([])
  })

  test('contracts', () => {
    expect(checkContracts(createTree(house), ['store/store.ts'])).toEqual([])
  })
})

describe('layers', () => {
  test("let the console's page import what is pure and its server's types, and nobody import it", () => {
    const planted = {
      'console/api.ts': 'export type A = 1\n',
      'console/console.ts': "import type { B } from '../../console/page.ts'\nexport type D = B\n",
      '../console/page.ts':
        "import type { A } from '../src/console/api.ts'\nimport type { D } from '../src/console/console.ts'\nexport type B = A | D\n",
    }
    expect(faultsOf('layers', planted)).toEqual([
      'console/console.ts: may not import ../console/page.ts',
      '../console/page.ts: may not import console/console.ts',
    ])
  })

  test('name an import against the direction', () => {
    const planted = "import type { Store } from '../store/store.ts'\nexport type A = Store\n"
    expect(faultsOf('layers', { 'protocol/fold.ts': planted })).toEqual([
      'protocol/fold.ts: may not import store/store.ts',
    ])
  })

  test('name an import of an entrance', () => {
    const planted = "export type { Store } from '../store/index.ts'\n"
    expect(faultsOf('layers', { 'streams/hub.ts': planted })).toEqual([
      'streams/hub.ts: imports the entrance store/index.ts; import the file that defines the name',
    ])
  })

  test('name a command that goes past the entrances into what serves', () => {
    const planted =
      "import '../store/index.ts'\nconst { createMemoryStore } = await import('../store/memory.ts')\nimport '../engine/engine.ts'\n"
    expect(faultsOf('layers', { 'cli/main.ts': planted })).toEqual([
      'cli/main.ts: may not import engine/engine.ts',
    ])
  })

  test('name a use of Node in a file that runs anywhere', () => {
    expect(faultsOf('layers', { 'protocol/fold.ts': "import 'node:fs'\n" })).toEqual([
      'protocol/fold.ts: imports node:fs',
    ])
  })

  test('name an unknown folder and an empty name', () => {
    expect(faultsOf('layers', { 'attic/box.ts': '', 'shared/utils.ts': '' })).toEqual([
      'attic/box.ts: the folder attic is not in the layering table',
      'shared/utils.ts: the name does not say what is inside',
    ])
  })
})

describe('cycles', () => {
  test('are named where values go round', () => {
    const planted = {
      'store/a.ts': "import { b } from './b.ts'\nexport const a = () => b\n",
      'store/b.ts': "import { a } from './a.ts'\nexport const b = () => a\n",
    }
    expect(faultsOf('cycles', planted)).toEqual([
      'import cycle of 2 files: store/a.ts -> store/b.ts -> store/a.ts',
    ])
  })

  test('that close through types are allowed within one directory', () => {
    const planted = {
      'store/a.ts': "import { b } from './b.ts'\nexport type A = typeof b\n",
      'store/b.ts': "import { c } from './c.ts'\nexport const b = c\n",
      'store/c.ts': "export const c = (a: import('./a.ts').A) => a\n",
    }
    expect(faultsOf('cycles', planted)).toEqual([])
  })

  test('that close through types are named between directories, from the import that crosses', () => {
    const planted = {
      'store/a.ts': "import { b } from './b.ts'\nexport type A = typeof b\n",
      'store/b.ts':
        "import type { A } from './a.ts'\nimport { c } from './file/c.ts'\nexport const b = c\n",
      'store/file/c.ts': "import type { A } from '../a.ts'\nexport const c = (a: A) => a\n",
    }
    expect(faultsOf('cycles', planted)).toEqual([
      'type cycle of 3 files: store/b.ts -> store/file/c.ts -> store/a.ts -> store/b.ts',
    ])
  })

  test('of both kinds are named apart', () => {
    const planted = {
      'store/a.ts': "import { b } from './b.ts'\nexport const a = () => b\n",
      'store/b.ts': "import { a } from './a.ts'\nexport const b = () => a\n",
      'store/c.ts': "import type { D } from '../protocol/d.ts'\nexport type C = D\n",
      'protocol/d.ts': "import type { C } from '../store/c.ts'\nexport type D = C\n",
    }
    expect(faultsOf('cycles', planted)).toEqual([
      expect.stringContaining('import cycle of 2 files: store/a.ts'),
      'type cycle of 2 files: protocol/d.ts -> store/c.ts -> protocol/d.ts',
    ])
  })
})

describe('contracts', () => {
  const check = (text: string, more: Readonly<Record<string, string>> = {}): string[] =>
    checkContracts(createTree({ ...house, ...more, 'agents/agent.ts': text }), [
      'agents/agent.ts',
      'store/store.ts',
    ])

  test('may import types of the protocol and of other contracts', () => {
    expect(
      check(
        "import type { Task } from '../protocol/types.ts'\nimport type { Store } from '../store/store.ts'\n",
      ),
    ).toEqual([])
  })

  test('may not import an implementation', () => {
    expect(check("import type { Echo } from './echo.ts'\n", { 'agents/echo.ts': '' })).toEqual([
      'agents/agent.ts: a contract imports no implementation, and agents/echo.ts is one',
    ])
  })

  test('may not import a value', () => {
    expect(check("import { now } from '../shared/clock.ts'\n")).toEqual([
      'agents/agent.ts: a contract imports types only, not ../shared/clock.ts as a value',
    ])
  })

  test('must be where the list says', () => {
    expect(checkContracts(createTree(house), ['agents/agent.ts'])).toEqual([
      'agents/agent.ts: the contract is not there',
    ])
  })
})

describe('operations', () => {
  const named = (folder: string, count: number): Record<string, string> =>
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`${folder}/f${at}.ts`, `// GetTask ${at}\n`]),
    )

  test('may be named in six files', () => {
    expect(faultsOf('operations', named('operations', 6))).toEqual([])
  })

  test("may be named freely in the console's page, a caller like any other", () => {
    expect(faultsOf('operations', named('../console', 7))).toEqual([])
  })

  test('may not be named in seven', () => {
    expect(faultsOf('operations', named('operations', 7))).toEqual([
      expect.stringMatching(
        /^GetTask stands in 7 files, at most 6 may name it: operations\/f0\.ts,/,
      ),
    ])
  })

  test('may be named freely in compat, gRPC and generated files', () => {
    const free = {
      ...named('compat', 4),
      ...named('bindings/grpc', 4),
      'protocol/a.generated.ts': '// GetTask',
    }
    expect(faultsOf('operations', { ...named('operations', 6), ...free })).toEqual([])
  })

  test('are told from longer names', () => {
    const longer = named('operations', 7)
    for (const path in longer) longer[path] = '// GetTaskRequest, forGetTask\n'
    expect(faultsOf('operations', longer)).toEqual([])
  })
})

describe('exported names', () => {
  test('have one meaning', () => {
    const planted = {
      'engine/run.ts': 'export class Run {}\n',
      'team/run.ts': '\nexport type Run = 1\n',
    }
    expect(faultsOf('unique names', planted)).toEqual([
      'Run is exported with 2 meanings: engine/run.ts:1, team/run.ts:2',
    ])
  })

  test('may be passed on, and are free in compat', () => {
    const planted = {
      'engine/run.ts':
        'export class Run {}\nexport function f(): 1\nexport function f() { return 1 }\n',
      'engine/runs.ts':
        "import { Run } from './run.ts'\nexport { Run }\nexport { f } from './run.ts'\n",
      'compat/run.ts': 'export class Run {}\n',
    }
    expect(faultsOf('unique names', planted)).toEqual([])
  })

  test("of a file that stands in for another are that one's", () => {
    const tree = createTree({
      'client/node.ts': 'export const http = 1\n',
      'client/fetch.ts': 'export const http = 2\n',
    })
    const replaced = { 'client/fetch.ts': 'client/node.ts' }
    expect(checks['unique names']?.(tree, { ...facts, replaced })).toEqual([])
  })

  test('are used in another file', () => {
    const planted = {
      'store/a.ts':
        'export const one = 1\nexport interface Two {}\nexport const { three } = { three: 3 }\n',
      'store/b.ts': "import { one } from './a.ts'\none.toFixed()\n",
    }
    expect(faultsOf('unused exports', planted)).toEqual([
      'store/a.ts:2: Two is exported and used in no other file',
      'store/a.ts:3: three is exported and used in no other file',
    ])
  })

  test('are used by the declaration of a public name', () => {
    const planted = {
      'store/a.ts':
        "import type * as B from './b.ts'\nexport interface Options { one?: B.One }\nclass Two {}\nexport function open(given: Options): void { new Two(given) }\n",
      'store/b.ts':
        'export class One { #own: Three; two: Four }\nexport interface Three {}\nexport interface Four {}\n',
      'store/index.ts': `${house['store/index.ts']}export { open } from './a.ts'\n`,
    }
    expect(faultsOf('unused exports', planted)).toEqual([
      'store/b.ts:2: Three is exported and used in no other file',
    ])
  })

  test('that are public are on a page, or belong to what is', () => {
    const planted = {
      'store/a.ts': 'export interface Spare {}\n',
      'store/index.ts': `${house['store/index.ts']}export type { Spare } from './a.ts'\n`,
    }
    expect(faultsOf('public names')).toEqual([])
    expect(faultsOf('public names', planted)).toEqual([
      'store/index.ts: Spare is on no page and in no example; mention it, or do not export it',
    ])
  })

  test('are used through a namespace, a dynamic import, or a file that passes them on', () => {
    const planted = {
      'store/a.ts': 'export const one = 1\nexport const two = 2\nexport const three = 3\n',
      'store/b.ts': "import * as a from './a.ts'\na.one.toFixed()\n",
      'store/c.ts': "void import('./a.ts').then(({ two }) => two)\n",
      'store/d.ts': "export { three as drei } from './a.ts'\n",
      'store/e.ts': "import { drei } from './d.ts'\ndrei.toFixed()\n",
    }
    expect(faultsOf('unused exports', planted)).toEqual([])
  })

  test('that are passed on to nobody are unused at both places', () => {
    const planted = {
      'store/a.ts': 'export const three = 3\n',
      'store/d.ts': "import { three } from './a.ts'\nexport { three }\n",
    }
    expect(faultsOf('unused exports', planted)).toEqual([
      'store/a.ts:1: three is exported and used in no other file',
      'store/d.ts:2: three is exported and used in no other file',
    ])
  })
  const planted = { ...house, 'store/a.ts': 'export const one = 1\nexport const two = 2\n' }

  test('may be there for a test that imports them from their file', () => {
    const tests = createTree({
      '../test/store/a.test.ts': "import { one } from '../../src/store/a.ts'\none.toFixed()\n",
    })
    expect(checks['unused exports']?.(createTree(planted), { ...facts, tests })).toEqual([
      'store/a.ts:2: two is exported and used in no other file',
    ])
  })

  test("may be there for the console's page outside of the source", () => {
    const page = createTree({
      '../console/logic/a.ts': "import { one, two } from '../../src/store/a.ts'\none + two\n",
    })
    expect(checks['unused exports']?.(createTree(planted), { ...facts, page })).toEqual([])
  })
})
