import { type OperationName, operationNames, operations } from '../../protocol/operations.ts'
import { reservedSegments } from '../routes.ts'

/** What a path and verb mean. */
type RouteMatch =
  | { readonly operation: OperationName; readonly params: Readonly<Record<string, string>> }
  /** The path exists, the verb does not. */
  | { readonly allow: readonly string[] }

interface Pattern {
  readonly operation: OperationName
  readonly verbs: readonly string[]
  readonly segments: readonly Segment[]
}

/** A literal, or a parameter with what follows it (`{id}:cancel`). */
type Segment = { readonly literal: string } | { readonly name: string; readonly suffix: string }

/** Finds the operation behind a verb and a path with no version prefix; the tenant is one more segment in front. */
type Router = (verb: string, path: string) => RouteMatch | undefined

/** The routes of the operations table, with other verbs and paths where a version differs. */
export function createRouter(paths: Readonly<Partial<Record<OperationName, string>>> = {}): Router {
  const patterns = operationNames.map((name) => toPattern(name, paths[name]))
  // A suffix is the narrower pattern: `/tasks/{id}:cancel` must be tried before `/tasks/{id}`.
  const ordered = patterns.toSorted((a, b) => suffixLength(b) - suffixLength(a))
  return (verb, path) => {
    const segments = path.split('/').slice(1)
    if (segments.at(-1) === '' && segments.length > 1) segments.pop()
    return find(ordered, verb, segments) ?? findForTenant(ordered, verb, segments)
  }
}

function findForTenant(
  patterns: readonly Pattern[],
  verb: string,
  segments: readonly string[],
): RouteMatch | undefined {
  const [first, ...rest] = segments
  if (first === undefined || rest.length === 0) return undefined
  const tenant = decode(first)
  if (tenant === undefined || tenant === '' || reservedSegments.has(tenant)) return undefined
  const match = find(patterns, verb, rest)
  if (!match || 'allow' in match) return match
  return { operation: match.operation, params: { ...match.params, tenant } }
}

function find(
  patterns: readonly Pattern[],
  verb: string,
  segments: readonly string[],
): RouteMatch | undefined {
  const allow: string[] = []
  let narrowest = -1
  for (const pattern of patterns) {
    const params = matchSegments(pattern.segments, segments)
    if (!params) continue
    // Once a suffix has matched, the wider pattern without it no longer means this path.
    const suffix = suffixLength(pattern)
    if (suffix < narrowest) break
    narrowest = suffix
    if (pattern.verbs.includes(verb)) return { operation: pattern.operation, params }
    allow.push(...pattern.verbs)
  }
  return allow.length > 0 ? { allow } : undefined
}

function matchSegments(
  pattern: readonly Segment[],
  segments: readonly string[],
): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [i, expected] of pattern.entries()) {
    const actual = segments[i] ?? ''
    if ('literal' in expected) {
      if (decode(actual) !== expected.literal) return undefined
      continue
    }
    if (!actual.endsWith(expected.suffix)) return undefined
    const value = decode(actual.slice(0, actual.length - expected.suffix.length))
    if (!value) return undefined
    params[expected.name] = value
  }
  return params
}

function toPattern(operation: OperationName, path: string | undefined): Pattern {
  const { rest } = operations[operation]
  const template = path ?? rest.path
  return { operation, verbs: rest.verbs, segments: template.split('/').slice(1).map(toSegment) }
}

function toSegment(text: string): Segment {
  const match = /^\{(\w+)\}(.*)$/.exec(text)
  return match?.[1] === undefined ? { literal: text } : { name: match[1], suffix: match[2] ?? '' }
}

function suffixLength(pattern: Pattern): number {
  return pattern.segments.reduce((sum, s) => sum + ('name' in s ? s.suffix.length : 0), 0)
}

// A segment that is not valid percent-encoding names nothing.
function decode(segment: string): string | undefined {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
