import { A2AError } from '../../protocol/errors.ts'
import { type Fields, isFields } from '../../shared/json.ts'

/** Whether a client says nothing by a value: many send every field that they know, whether it is set or not. */
export function isNeutral(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** A field that is there and wrong. */
export function wrong(field: string, description: string): A2AError {
  return new A2AError('invalidParams', `${field} ${description}`, {
    violations: [{ field, description }],
  })
}

/** A field that must be an object. @throws A2AError `invalidParams`. */
export function objectField(value: unknown, field: string): Fields {
  if (!isFields(value)) throw wrong(field, 'must be an object')
  return value
}

/** A field that is a text; undefined where it says nothing. @throws A2AError `invalidParams`. */
export function textField(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') throw wrong(field, 'must be a string')
  return value
}
