import { A2AError } from '../protocol/errors.ts'
import { isJsonContent } from './content-type.ts'
import type { HttpRequest } from './http.ts'

/**
 * The JSON of a request.
 *
 * @throws A2AError `contentTypeNotSupported`, `parseError`, or why the body could not be read.
 */
export function parseBody(request: HttpRequest): unknown {
  if (request.fault) throw request.fault
  if (!isJsonContent(request))
    throw new A2AError('contentTypeNotSupported', 'The content type must be application/json')
  try {
    return JSON.parse(request.body)
  } catch (cause) {
    throw new A2AError('parseError', 'Invalid JSON payload', { cause })
  }
}
