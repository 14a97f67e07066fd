import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkDomain, loadDomain } from '../../../src/eval/index.ts'
import { runProgram, serveProgram } from './programs.ts'

const desk = join(import.meta.dirname, '../../../examples/guides/evaluate/desk')

test('the domain of the guide is sound', async () => {
  const { findings, oracle } = await checkDomain(await loadDomain(desk))
  expect(findings.filter(({ level }) => level === 'error')).toEqual([])
  expect(oracle).toEqual({ passed: 2, of: 2 })
})

test('the scorer of the guide tells the careful clerk from the other', async () => {
  const measure = async (clerk: string): Promise<readonly string[]> => {
    const env = { AGENT_URL: await serveProgram(clerk), DOMAIN: desk }
    const { stdout } = await runProgram('evaluate/measure.mjs', env)
    return stdout.trim().split('\n')
  }
  const [rash, careful] = await Promise.all([
    measure('evaluate/clerk.mjs'),
    measure('evaluate/careful.mjs'),
  ])
  expect(rash.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
    'cancel-open 1',
    'refuse-shipped 0',
  ])
  expect(careful.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
    'cancel-open 1',
    'refuse-shipped 1',
  ])
})
