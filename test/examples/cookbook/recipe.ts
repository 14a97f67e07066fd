import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, vi } from 'vitest'
import type { JsonObject, Message } from '../../../src/protocol/types.ts'
import { newId } from '../../../src/shared/ids.ts'
import type { Team } from '../../../src/team/team.ts'
import {
  type ModelRequest,
  type ModelScript,
  openModelServer,
  type RunTeamOptions,
  runTeam,
  type TeamRun,
} from '../../../src/testing/index.ts'

/** Where the cookbook lies. */
export const cookbook = join(import.meta.dirname, '../../../examples/cookbook')

/** One run of a team of the cookbook. */
export interface RecipeRun extends TeamRun {
  /** What its models were asked, in order. */
  readonly requests: readonly ModelRequest[]
}

/** What a team of the cookbook is asked, and what its models say. */
export interface RecipeOptions extends Pick<RunTeamOptions, 'answers' | 'logger'> {
  /** Said anew to each of the two teams. */
  readonly models?: ModelScript
}

/**
 * Runs a team of the cookbook as its program makes it and as its file does. Both must end alike and leave the same trace,
 * but for times: the run of the program is given back.
 */
export async function cook(
  name: string,
  message: string | Message,
  { models = [''], ...options }: RecipeOptions = {},
): Promise<RecipeRun> {
  const service = await openService(models)
  const folder = join(cookbook, name)
  const team = await loadTeam(name)
  const program = await service.ask(() => runTeam(team, message, options))
  await team.manager.close()
  const file = await service.ask(() => runTeam(join(folder, 'corral.toml'), message, options))
  expect(withoutChance(file.trace)).toEqual(withoutChance(program.trace))
  for (const key of ['text', 'state', 'questions', 'delegations'] as const)
    expect(file[key]).toEqual(program[key])
  return program
}

/** The team of a program, made anew: it reads the variables of this process when it is loaded. */
export async function loadTeam(name: string): Promise<Team> {
  const url = pathToFileURL(join(cookbook, name, 'team.ts'))
  url.searchParams.set('run', newId())
  const program: { readonly team: Team } = await import(url.href)
  return program.team
}

/** Starts the local model service, to which the variables of this process lead the teams of the cookbook. */
export async function openService(models: ModelScript) {
  let before = 0
  const server = await openModelServer((request, count) => {
    if (typeof models === 'function') return models(request, count - before)
    return models[Math.min(count - before, models.length) - 1] ?? ''
  })
  vi.stubEnv('MODEL_URL', server.url)
  vi.stubEnv('MODEL', 'gpt-test')
  vi.stubEnv('OPENAI_API_KEY', 'none')
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await server.close()
  })
  return {
    requests: server.requests,
    async ask(run: () => Promise<TeamRun>): Promise<RecipeRun> {
      before = server.requests.length
      const ended = await run()
      return { ...ended, requests: server.requests.slice(before) }
    },
  }
}

/** A trace without times and numbers of the log; of what went on at once, one after the other. */
export function withoutChance(trace: readonly JsonObject[]): readonly JsonObject[] {
  const placeOf = ({ path, call }: JsonObject): string => String(path ?? call ?? '')
  return trace
    .map(({ seq: _, time, at, durationMs, ...entry }) => entry)
    .sort((one, other) => placeOf(one).localeCompare(placeOf(other)))
}
