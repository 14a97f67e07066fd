import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import {
  type ModelServer,
  type RunTeamOptions,
  runTeam,
  type TeamRun,
} from '../../../src/testing/index.ts'

/** Where the files of the guides lie. */
const guides = join(import.meta.dirname, '../../../examples/guides')

/** The files of one guide, run without its pages. */
export interface Guide {
  /** Where a file of it lies. */
  path(file: string): string
  /** What a program exports once it has run; its PORT is any free one, and the variables are those given. */
  load(file: string, env?: Readonly<Record<string, string>>): Promise<Record<string, unknown>>
  /** Runs the first team or agent of a file, or the one that `team` names, with the guide's own stand-in for a model. */
  run(file: string, message: string, options?: RunTeamOptions): Promise<TeamRun>
}

/** Opens a guide by its name. */
export function openGuide(name: string): Guide {
  const path = (file: string): string => join(guides, name, file)
  let model: Promise<ModelServer> | undefined

  async function load(
    file: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<Record<string, unknown>> {
    for (const [key, value] of Object.entries({ PORT: '0', ...env })) vi.stubEnv(key, value)
    onTestFinished(() => void vi.unstubAllEnvs())
    return import(path(file))
  }
  return {
    path,
    load,
    async run(file, message, options = {}) {
      model ??= load('model.mjs').then(
        (exports) => exports.model as ModelServer, // what stand-ins export
      )
      const { url } = await model
      const env = { OPENAI_BASE_URL: url, OPENAI_API_KEY: 'none', MODEL: 'any', ...options.env }
      return runTeam(path(file), message, { logger: false, ...options, env })
    },
  }
}

/** What a program prints, line by line. */
export function listen(): readonly string[] {
  const lines: string[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((line) => void lines.push(String(line)))
  onTestFinished(() => log.mockRestore())
  return lines
}
