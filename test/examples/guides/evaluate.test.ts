import { expect, test } from 'vitest'
import { checkDomain } from '../../../src/eval/domain/check.ts'
import { loadDomain } from '../../../src/eval/index.ts'
import { guideFile, runPrograms, servePrograms } from './guide.ts'

const desk = guideFile('evaluate/desk')

test('the domain of the guide is sound', async () => {
  const { findings, oracle } = await checkDomain(await loadDomain(desk))
  expect(findings.filter(({ level }) => level === 'error')).toEqual([])
  expect(oracle).toEqual({ passed: 2, of: 2 })
})

test('the scorer of the guide tells the careful clerk from the other', async () => {
  const urls = await servePrograms(['evaluate/clerk.mjs', 'evaluate/careful.mjs'])
  const name = 'evaluate/measure.mjs'
  const printed = await runPrograms(
    urls.map((AGENT_URL) => ({ name, env: { AGENT_URL, DOMAIN: desk } })),
  )
  const rewards = printed.map((text) => text.match(/^[\w-]+ \d/gm))
  expect(rewards).toEqual([
    ['cancel-open 1', 'refuse-shipped 0'],
    ['cancel-open 1', 'refuse-shipped 1'],
  ])
})
