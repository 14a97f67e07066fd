import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { built } from '../../test/support/built.ts'

const folder = dirname(fileURLToPath(built('console/page/index.html')))
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))

test('the built page is at most 150 kB gzipped', () => {
  const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0)
  expect(files.length).toBeGreaterThan(2)
  expect(bytes).toBeLessThanOrEqual(150_000)
})

test('the page holds no inline script or style, and names no other origin', () => {
  const html = readFileSync(join(folder, 'index.html'), 'utf8')
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/)
  const sources = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, source]) => source)
  expect(sources.length).toBeGreaterThan(1)
  for (const source of sources) expect(source).toMatch(/^\/console\/assets\//)
})
