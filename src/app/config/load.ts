import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { checkConfig } from './check.ts'
import { type Config, fileSchema, type ToConfigError } from './file.ts'
import { ignoredKeys } from './ignored.ts'
import { knownKeys } from './json-schema.ts'
import { createLocate } from './locate.ts'
import { ConfigError, type Problem, toProblems, type Unplaced } from './problems.ts'
import { fillSchemas } from './schema-files.ts'
import { toSyntaxError } from './syntax.ts'
import { type ConfigVariables, fillEnvironment, unfilledOffset, valueAt } from './values.ts'

/** What surrounds a configuration's text. */
export interface ParseOptions {
  /** Fills `${NAME}`; nothing is read from the process. */
  readonly env?: ConfigVariables
  /** How errors name the file. */
  readonly path?: string
  /** Where the schema files are that it names; none is read if absent. */
  readonly directory?: string
}

/**
 * Reads and checks a configuration file.
 * @throws ConfigError with every problem, each with line and column.
 */
export async function loadConfig(path: string, env: ConfigVariables): Promise<Config> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    const problem = { path: [], line: 1, column: 1, message: unreadable(cause) }
    throw new ConfigError(path, [problem], { cause })
  }
  return parseConfig(text, { env, path, directory: dirname(path) })
}

function unreadable(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ENOENT') return 'the file cannot be read: there is none'
  if (code === 'EISDIR') return 'the file cannot be read: it is a directory'
  return `the file cannot be read${code ? ` (${code})` : ''}`
}

/**
 * Checks the text of a configuration: its TOML, variables and values, and that every name names something.
 * @throws ConfigError with every problem, each with line and column.
 */
export function parseConfig(text: string, options: ParseOptions = {}): Config {
  const { env = {}, path = 'corral.toml' } = options
  const place = (problems: readonly Unplaced[]): readonly Problem[] => {
    const locate = createLocate(text)
    const placed = problems.map(({ offset, ...problem }) => {
      const written = toWritten(valueAt(value, problem.path), env, offset)
      return { ...problem, ...locate(problem.path, written) }
    })
    return inOrder(placed)
  }
  const refuse: ToConfigError = (problems, because) =>
    new ConfigError(path, place(problems), because)
  const value = parseToml(text, path)
  const filled = fillEnvironment(value, env)
  const whole = fillSchemas(filled.value, options.directory)
  const parsed = fileSchema.safeParse(whole.value, { reportInput: true })
  const issues = parsed.success ? [] : toProblems(parsed.error.issues, knownKeys)
  const problems = [...filled.problems, ...whole.problems, ...issues]
  if (!parsed.success || problems.length > 0) throw refuse(problems)
  const { problems: faults, plans } = checkConfig(parsed.data, env)
  if (faults.length > 0) throw refuse(faults)
  // Hidden: whoever copies the configuration to change it gets one that is checked again, and can be cloned.
  return Object.defineProperties(parsed.data, {
    plans: { value: plans },
    refuse: { value: refuse },
    warnings: { value: toWarnings(place(ignoredKeys(value))) },
    files: { value: whole.files },
  })
}

function toWritten(
  value: unknown,
  env: ConfigVariables,
  offset: number | undefined,
): number | undefined {
  if (offset === undefined || typeof value !== 'string') return undefined
  return unfilledOffset(value, env, offset)
}

function parseToml(text: string, file: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw error instanceof TomlError ? toSyntaxError(error, text, file) : error
  }
}

function inOrder(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
}

function toWarnings(problems: readonly Problem[]): readonly string[] {
  return problems.map(({ line, column, message }) => `line ${line}, column ${column}: ${message}`)
}
