import { PythonError } from '../python/error.ts'
import { repr } from '../python/text.ts'
import { typeName, type Value } from '../python/value.ts'

/** One fault that pydantic finds: where, which kind, in which words, and what was given. */
export interface Issue {
  readonly path: readonly (string | number)[]
  readonly type: string
  readonly message: string
  readonly input: Value
}

/** What a check throws; whoever checks a container adds the place of the part. */
export class Invalid extends Error {
  override readonly name = 'Invalid'
  readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[]) {
    super('Invalid')
    this.issues = issues
  }
}

/** A single fault at the place of the check. */
export function invalid(type: string, message: string, input: Value): Invalid {
  return new Invalid([{ path: [], type, message, input }])
}

/** Runs the check of a part; its faults come back with the part's place in front. */
export function within<T>(place: string | number, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof Invalid)) throw error
    throw new Invalid(error.issues.map((issue) => ({ ...issue, path: [place, ...issue.path] })))
  }
}

/** Runs all checks and throws the faults of all of them together. */
export function collect<T>(checks: readonly (() => T)[]): T[] {
  const [done, issues]: [T[], Issue[]] = [[], []]
  for (const check of checks) {
    try {
      done.push(check())
    } catch (error) {
      if (!(error instanceof Invalid)) throw error
      issues.push(...error.issues)
    }
  }
  if (issues.length > 0) throw new Invalid(issues)
  return done
}

/** Faults as pydantic 2.12 tells them: that is what a caller reads whose arguments make no valid object. */
export function validationError(title: string, { issues }: Invalid): PythonError {
  const count = `${issues.length} validation error${issues.length === 1 ? '' : 's'} for ${title}`
  const lines = issues.map(({ path, type, message, input }) => {
    const given = `input_value=${shorten(repr(input))}, input_type=${typeName(input)}`
    const link = `    For further information visit https://errors.pydantic.dev/2.12/v/${type}`
    return `${path.join('.')}\n  ${message} [type=${type}, ${given}]\n${link}`
  })
  return new PythonError('ValidationError', [count, ...lines].join('\n'))
}

/** At most 50 bytes of a `repr`: its beginning and its end. */
function shorten(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= 50) return text
  const isInside = (at: number): boolean => ((bytes[at] ?? 0) & 0xc0) === 0x80
  let [head, tail] = [25, bytes.length - 24]
  while (isInside(head)) head--
  while (isInside(tail)) tail++
  return `${bytes.toString('utf8', 0, head)}...${bytes.toString('utf8', tail)}`
}
