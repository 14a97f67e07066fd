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

/**
 * What a check gives for a value that does not fit. It is returned, not thrown: unions try member after member, and a
 * thrown error for each would cost more than all the rest of loading a database.
 */
export class Invalid {
  readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[]) {
    this.issues = issues
  }
}

/** What a check gives. */
export type CheckedValue = Value | Invalid

/** A single fault at the place of the check. */
export function invalid(type: string, message: string, input: Value): Invalid {
  return new Invalid([{ path: [], type, message, input }])
}

/** The faults of a part, with the part's place in front. */
export function at(place: string | number, { issues }: Invalid): Issue[] {
  return issues.map((issue) => ({ ...issue, path: [place, ...issue.path] }))
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
  const isInside = (place: number): boolean => ((bytes[place] ?? 0) & 0xc0) === 0x80
  let [head, tail] = [25, bytes.length - 24]
  while (isInside(head)) head--
  while (isInside(tail)) tail++
  return `${bytes.toString('utf8', 0, head)}...${bytes.toString('utf8', tail)}`
}
