import type { HttpRequest } from './http.ts'

/**
 * Whether a body may be JSON: `application/json` or any `+json` type, or no type at all, which is tolerated.
 */
export function isJsonContent(request: Pick<HttpRequest, 'headers'>): boolean {
  const header = request.headers['content-type']
  if (header === undefined || header === 'application/json' || header === '') return true
  const semicolon = header.indexOf(';')
  const type = (semicolon < 0 ? header : header.slice(0, semicolon)).trim().toLowerCase()
  return type === 'application/json' || (type.startsWith('application/') && type.endsWith('+json'))
}
