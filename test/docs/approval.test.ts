import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readVerdict } from '../../src/agents/tools.ts'

const page = new URL('../../docs/guides/people-in-the-loop.md', import.meta.url)
const text = readFileSync(page, 'utf8')

test.each(['yes', 'no'])('each answer that the guide calls a clear %s is one', (verdict) => {
  const [, row = ''] = new RegExp(`^\\| ${verdict} \\| (.*) \\|$`, 'm').exec(text) ?? []
  const words = row.split(', ')
  expect(words.length).toBeGreaterThan(10)
  for (const word of words) expect([word, readVerdict([{ text: word }])]).toEqual([word, verdict])
})
