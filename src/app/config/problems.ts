import type { z } from 'zod'
import { nearest } from '../../shared/nearest.ts'
import type { Location } from './locate.ts'

/** One thing that is wrong in a configuration. */
export interface Problem extends Location {
  /** The keys that lead to the value. */
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** What was probably meant. */
  readonly hint?: string
}

/** A configuration that cannot be used: every problem at once, each with its line and column. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** What is wrong, in the file's order. */
  readonly problems: readonly Problem[]

  constructor(file: string, problems: readonly Problem[], options?: ErrorOptions) {
    super(problems.map((problem) => toLine(file, problem)).join('\n'), options)
    this.problems = problems
  }
}

/** A problem before it has its place in the text. */
export interface Unplaced extends Omit<Problem, keyof Location> {
  /** The character at which it begins, where the value is a text in which something is wrong. */
  readonly offset?: number | undefined
}

/** What the schema found, in words for the person who wrote the file. */
export function toProblems(
  issues: readonly z.core.$ZodIssue[],
  knownKeys: (path: readonly PropertyKey[]) => readonly string[],
): readonly Unplaced[] {
  return issues.flatMap(toMeant).flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') {
      const hint = meantWord(issue)
      const message = `${nameOf(issue.path)}${complaint(issue)}`
      return [{ path: issue.path, message, ...(hint && { hint }) }]
    }
    return issue.keys.map((key) => unknownKey(issue.path, key, knownKeys(issue.path)))
  })
}

/** Of a value that may be several things, what is wrong with it as that which it comes closest to. */
function toMeant(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.input === undefined) return [issue]
  const [first, ...others] = issue.errors.filter((found) => !found.some(isOfWhole))
  if (!first) return [issue]
  const closest = others.reduce((a, b) => (b.length < a.length ? b : a), first)
  return closest.flatMap(
    (inner) => toMeant({ ...inner, path: [...issue.path, ...inner.path] } as z.core.$ZodIssue), // the same issue, from the root
  )
}

/** Whether a value is nothing of the kind. */
function isOfWhole({ code, path }: z.core.$ZodIssue): boolean {
  return code === 'invalid_type' && path.length === 0
}

function unknownKey(path: readonly PropertyKey[], key: string, known: readonly string[]): Unplaced {
  const meant = nearest(key, known)
  const hint = meant ? `did you mean ${meant}?` : `known keys: ${known.join(', ')}`
  return {
    path: [...path, key],
    message: `unknown key ${key}`,
    ...((meant || known.length > 0) && { hint }),
  }
}

/** Where one of some words is wanted and another stands there. */
function meantWord(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code !== 'invalid_value' || typeof issue.input !== 'string') return undefined
  const meant = nearest(issue.input, issue.values.map(String))
  return meant && `did you mean ${meant}?`
}

function nameOf(path: readonly PropertyKey[]): string {
  return path.filter((key) => typeof key === 'string').join('.') || 'the file'
}

function complaint({ code, message, input }: z.core.$ZodIssue): string {
  if (code === 'invalid_type' && message.endsWith('received undefined')) return ' is missing'
  // A number may be written in two ways.
  if (code === 'invalid_union' && input === undefined) return ' is missing'
  return `: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}

function toLine(file: string, { line, column, message, hint }: Problem): string {
  return `${file}:${line}:${column}: ${message}${hint ? ` (${hint})` : ''}`
}
