import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { serveProgram } from './guide.ts'

const root = new URL('../../../', import.meta.url)
const page = readFileSync(new URL('docs/guides/console.md', root), 'utf8')
const table = page.slice(page.indexOf('| metric |'), page.indexOf('With `--workers`'))
const documented = new Set([...table.matchAll(/`(corral_\w+)`/g)].map(([, name]) => name))

test('a server of your own has a console, and every metric that it shows is explained', async () => {
  const url = await serveProgram('console/console.mjs')
  expect((await fetch(`${url}/console/`)).headers.get('content-type')).toContain('text/html')
  const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'Hello' }] }
  await fetch(`${url}/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ message }),
  })
  const metrics = await (await fetch(`${url}/metrics`)).text()
  const shown = [...metrics.matchAll(/^# TYPE (corral_\w+)/gm)].map(([, name]) => name)
  expect(shown).toContain('corral_request_seconds')
  expect(shown.filter((name) => !documented.has(name))).toEqual([])
})

test('alerts ask for metrics that there are', () => {
  const alerts = readFileSync(new URL('examples/deploy/corral-alerts.yml', root), 'utf8')
  const asked = [...alerts.matchAll(/\b(corral_\w+?)(?:_bucket|_count|_sum)?\b(?=[{[)])/g)]
  const names = asked.map(([, name]) => name)
  expect(names.length).toBeGreaterThan(5)
  expect(names.filter((name) => !documented.has(name))).toEqual([])
})
