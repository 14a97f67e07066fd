import { A2AError } from '../protocol/errors.ts'
import type { TaskCursor } from '../store/store.ts'

/** A cursor as an opaque string: base64url of its timestamp and id. */
export function toPageToken({ timestamp, id }: TaskCursor): string {
  const bytes = new TextEncoder().encode(`${timestamp}\n${id}`)
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** @throws A2AError `invalidParams` for what is no page token of ours. */
export function fromPageToken(token: string): TaskCursor {
  try {
    const text = atob(token.replaceAll('-', '+').replaceAll('_', '/'))
    const decoded = new TextDecoder().decode(Uint8Array.from(text, (char) => char.charCodeAt(0)))
    const cut = decoded.indexOf('\n')
    if (cut > 0) return { timestamp: decoded.slice(0, cut), id: decoded.slice(cut + 1) }
  } catch {
    // Not base64: said below.
  }
  throw new A2AError('invalidParams', 'pageToken: is not a token of this server', {
    violations: [{ field: 'pageToken', description: 'is not a token of this server' }],
  })
}
