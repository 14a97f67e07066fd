import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { chapterOf } from '../../scripts/markdown/page.ts'
import { WrappedTurn } from '../../src/agents/wrap.ts'

const page = readFileSync(new URL('../../docs/guides/agents.md', import.meta.url), 'utf8')

test('the guide to agents has every member of the Turn in its table, and no other', () => {
  // It has all of them, the optional ones too: the compiler sees to that.
  const members = Object.getOwnPropertyNames(WrappedTurn.prototype)
  const named = [...chapterOf(page, 'The Turn').matchAll(/^\| (`.*?`) \|/gm)].flatMap(
    ([, cell = '']) => [...cell.matchAll(/`(\w+)[^`]*`/g)].map(([, name]) => name),
  )
  expect(named.toSorted()).toEqual(members.filter((name) => name !== 'constructor').toSorted())
})
