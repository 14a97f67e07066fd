import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string): string =>
  readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')

test("tau2's notice is beside what was ported from it, and the same in the package", () => {
  expect(read('src/eval/tau2/LICENSE')).toContain('Copyright (c) 2025 Sierra Research')
  expect(read('data/tau2/LICENSE')).toBe(read('src/eval/tau2/LICENSE'))
  const { files } = JSON.parse(read('package.json'))
  expect(files).toEqual(expect.arrayContaining(['data']))
})
