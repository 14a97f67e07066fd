import { join } from 'node:path'
import { expect, onTestFinished, vi } from 'vitest'
import type { Example } from '../../../examples/cookbook/play.ts'
import type { JsonObject } from '../../../src/protocol/types.ts'
import type { Team } from '../../../src/team/team.ts'
import {
  type ModelRequest,
  type ModelServer,
  openModelServer,
  runTeam,
  type TeamRun,
} from '../../../src/testing/index.ts'

/** Where the cookbook lies. */
export const cookbook = join(import.meta.dirname, '../../../examples/cookbook')

/** What the program of a folder exports. */
interface Recipe {
  createTeam(modelUrl: string): Team
  readonly example: Example
}

/** One run of a team of the cookbook. */
interface CookedRun extends TeamRun {
  /** What its models were asked, in order. */
  readonly requests: readonly ModelRequest[]
}

/**
 * Runs a team of the cookbook as its program makes it and as its file does, with the program's example or with what is given
 * instead. Both must end alike and leave the same trace, but for times: the run of the program is given back.
 */
export async function cook(name: string, given: Partial<Example> = {}): Promise<CookedRun> {
  const file = join(cookbook, name, 'corral.toml')
  const { createTeam, example }: Recipe = await import(join(cookbook, name, 'team.ts'))
  const { message, model = [''], open, ...options } = { ...example, ...given }
  const around = await open?.()
  onTestFinished(async () => around?.close())
  for (const [key, value] of Object.entries(around?.env ?? {})) vi.stubEnv(key, value)
  onTestFinished(() => void vi.unstubAllEnvs())

  const run = async (play: (service: ModelServer) => Promise<TeamRun>): Promise<CookedRun> => {
    const service = await openModelServer(model)
    onTestFinished(service.close)
    return { ...(await play(service)), requests: service.requests }
  }
  const silent = { ...options, logger: false } as const
  const program = await run(async ({ url }) => {
    const team = createTeam(url)
    onTestFinished(() => team.manager.close())
    return runTeam(team, message, silent)
  })
  const written = await run(({ url }) =>
    runTeam(file, message, { ...silent, env: { MODEL_URL: url, OPENAI_API_KEY: 'offline' } }),
  )
  expect(withoutChance(written.trace)).toEqual(withoutChance(program.trace))
  for (const key of ['text', 'state', 'questions', 'delegations'] as const)
    expect(written[key]).toEqual(program[key])
  return program
}

/** Who was asked what, in order. */
export function callsOf({ delegations }: TeamRun): readonly string[] {
  return delegations.map(({ member, text }) => `${member}: ${text}`)
}

/** A trace without times and numbers of the log; of what went on at once, one after the other. */
export function withoutChance(trace: readonly JsonObject[]): readonly JsonObject[] {
  const placeOf = ({ path, call }: JsonObject): string => String(path ?? call ?? '')
  return trace
    .map(({ seq: _, time, at, durationMs, ...entry }) => entry)
    .sort((one, other) => placeOf(one).localeCompare(placeOf(other)))
}
