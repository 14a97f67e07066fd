import { dumps } from './python/dumps.ts'
import { repr } from './python/text.ts'
import { isDict, isList, type Value } from './python/value.ts'

/**
 * What a tool's value is to its caller (`to_json_str`): a string as it is, everything else as JSON. Numbers outside of a
 * model become strings, so that a bare 15.1 reads `"15.1"` and one inside an order `15.1`.
 */
export function toAnswer(value: Value | undefined): string {
  return typeof value === 'string' ? value : dumps(prepare(value ?? null))
}

function prepare(value: Value): Value {
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return repr(value)
  if (isList(value)) return value.map(prepare)
  return isDict(value) ? new Map([...value].map(([key, item]) => [key, prepare(item)])) : value
}
