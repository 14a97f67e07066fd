import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Problem } from '../../app/config/locate.ts'
import { createRoster, rosterWarnings } from '../../app/roster.ts'
import { toPrintableLine } from '../../shared/text.ts'
import { type Config, ConfigError } from '../../team/index.ts'
import { addCommand, exits, readConfig, readVariables, variablesHelp } from '../command.ts'
import { CliError } from '../errors.ts'
import { stderr, stdout } from '../screen.ts'

/** Adds `corral validate`. */
export function addValidateCommand(program: Command): void {
  addCommand(program, {
    usage: 'validate <file>',
    description:
      'check a file and load the modules that it names, without contacting anyone; exit code 1 if there are problems',
    examples: ['corral validate team.toml', 'corral validate team.toml --json'],
  })
    .option('--env <file>', variablesHelp)
    .action(exits(validateCommand))
}

async function validateCommand(
  file: string,
  { json, env }: { readonly json?: boolean; readonly env?: string },
): Promise<number> {
  const result = await examine(file, env)
  if ('config' in result) {
    const { teams, agents } = result.config
    const ids = { teams: teams.map(({ id }) => id), agents: agents.map(({ id }) => id) }
    const words = `${file} is valid. Teams: ${list(ids.teams)}. Agents: ${list(ids.agents)}.`
    const { warnings } = result
    const found = { valid: true, ...ids, ...(warnings.length > 0 && { warnings }) }
    stdout.write(`${json ? JSON.stringify(found, null, 2) : words}\n`)
    if (!json) for (const text of warnings) stderr.write(`${file}: warning: ${text}\n`)
    return 0
  }
  const { problems } = result
  if (json) stdout.write(`${JSON.stringify({ valid: false, problems }, null, 2)}\n`)
  else for (const problem of problems) stderr.write(`${toLine(file, problem)}\n`)
  return 1
}

type Examined =
  | { readonly config: Config; readonly warnings: readonly string[] }
  | { readonly problems: readonly LocatedProblem[] }

/** A problem of the file, or of a module that it names, which has no line in it. */
type LocatedProblem = Partial<Problem> & Pick<Problem, 'message'>

async function examine(file: string, variables: string | undefined): Promise<Examined> {
  try {
    const environment = await readVariables(variables)
    const config = await readConfig(file, environment)
    const roster = await createRoster(config, {
      directory: dirname(resolve(file)),
      environment,
    })
    try {
      return { config, warnings: await rosterWarnings(roster) }
    } finally {
      await roster.close()
    }
  } catch (error) {
    if (error instanceof CliError) throw error
    if (error instanceof ConfigError) return { problems: error.problems }
    return { problems: [{ message: error instanceof Error ? error.message : String(error) }] }
  }
}

function list(ids: readonly string[]): string {
  return toPrintableLine(ids.join(', ')) || 'none'
}

function toLine(file: string, { line, column, message, hint }: LocatedProblem): string {
  const place = line === undefined ? file : `${file}:${line}:${column}`
  return toPrintableLine(`${place}: ${message}${hint ? ` (${hint})` : ''}`)
}
