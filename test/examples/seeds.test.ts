import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createBarrier, serveTeam } from '../acceptance/team.ts'

const folder = join(import.meta.dirname, '../../examples/seeds')
const run = promisify(execFile)
const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0

/** Says why a test does not run: a machine without the program must not look like one where it passes. */
function needs(program: string): boolean {
  if (has(program)) return true
  console.warn(`SKIPPED: ${program} is not installed, so seed 004's client was not run`)
  return false
}

test.runIf(needs('python3'))('S004-61: the Python client prints the answer', async () => {
  const url = await serveTeam((text) => `${text}, you`)
  const { stdout } = await run('python3', [join(folder, '004.py'), url])
  expect(stdout.trim()).toBe(
    "{'message': {'role': 'agent', 'parts': [{'type': 'text', 'text': 'Hello, you'}]}}",
  )
})

test.runIf(needs('curl'))('S004-63, S004-47: the curl client, a hundred at once', async () => {
  // Nobody is answered before twenty of them are at work, so that they really are there at the same time.
  const together = createBarrier(20)
  const url = await serveTeam(async (text) => {
    await together()
    return `${text}, done`
  })
  const { stdout } = await run('sh', [join(folder, '004.sh'), url])
  const [card, ...answers] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(card.result).toMatchObject({ agent_id: 'team', name: 'Team' })
  expect(answers).toHaveLength(100)
  for (const { id, result } of answers)
    expect(result).toEqual({
      message: { role: 'agent', parts: [{ type: 'text', text: `Request ${id}, done` }] },
    })
  expect(new Set(answers.map(({ id }) => id)).size).toBe(100)
})
