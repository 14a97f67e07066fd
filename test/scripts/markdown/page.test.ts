import { expect, test } from 'vitest'
import { chapterOf } from '../../../scripts/markdown/page.ts'

test('a chapter ends where the next begins, not at a heading within it', () => {
  const page = '## One\n\none\n\n### Of one\n\nmore\n\n## Two\n\ntwo\n'
  expect(chapterOf(page, 'One')).toBe('\none\n\n### Of one\n\nmore\n')
  expect(chapterOf(page, 'Two')).toBe('\ntwo\n')
  expect(() => chapterOf(page, 'Three')).toThrow('There is no chapter Three')
})
