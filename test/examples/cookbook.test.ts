import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openModelServer, runTeam } from 'corral/testing'
import { describe, expect, test } from 'vitest'
import type { createTeam } from '../../examples/cookbook/budget/team.ts'
import type { Example } from '../../examples/cookbook/play.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'examples/cookbook')
const programs = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

/** What the program of a folder exports. */
interface Program {
  readonly createTeam: typeof createTeam
  readonly example: Example
}

type Entry = Readonly<Record<string, unknown>>

/** What happened, without what the clock says; members at once may tell in any order. */
function toStory(trace: readonly Entry[]): readonly string[] {
  return trace.map(({ seq, at, time, durationMs, ...rest }) => JSON.stringify(rest)).toSorted()
}

/** Runs against a model of its own, which answers the same to all. */
async function play(name: string, from: 'team.ts' | 'corral.toml') {
  const { createTeam, example }: Program = await import(join(folder, name, 'team.ts'))
  const model = await openModelServer(example.model)
  const options = { answers: example.answers ?? [], logger: false } as const
  try {
    if (from === 'team.ts') {
      const team = createTeam(model.url)
      return await runTeam(team, example.message, options).finally(() => team.manager.close())
    }
    const env = { MODEL_URL: model.url, OPENAI_API_KEY: 'offline' }
    return await runTeam(join(folder, name, from), example.message, { ...options, env })
  } finally {
    await model.close()
  }
}

describe.each(programs)('the program %s of the cookbook', (name) => {
  test('runs by itself, offline', async () => {
    const args = ['--import', 'tsx', join(folder, name, 'team.ts')]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
    expect(stdout).toMatch(/^TASK_STATE_(COMPLETED|FAILED|REJECTED): ./m)
  })

  test.runIf(existsSync(join(folder, name, 'corral.toml')))(
    'does the same in TypeScript and in TOML',
    async () => {
      const [typed, file] = [await play(name, 'team.ts'), await play(name, 'corral.toml')]
      expect([file.state, file.text]).toEqual([typed.state, typed.text])
      expect(toStory(typed.trace).length).toBeGreaterThan(2)
      expect(toStory(file.trace)).toEqual(toStory(typed.trace))
    },
  )
})

test('the budget stops after the answer that reached it', async () => {
  const { text, trace } = await play('budget', 'corral.toml')
  expect(text).toContain('budget of 0.0003 USD: 0.000312 are spent')
  expect(trace.filter(({ type }) => type === 'model')).toHaveLength(4)
})
