import type { Guard } from '../network/guard.ts'
import { A2AError } from '../protocol/errors.ts'
import type { TaskPushNotificationConfig } from '../protocol/types.ts'

/** A config as it came in a request, and the path of the request's field that holds it. */
interface ConfigToCheck {
  readonly config: TaskPushNotificationConfig
  /** Empty where the request is the config itself. */
  readonly path?: string
}

/**
 * Checks that a webhook can be called: its URL by the guard, its secrets as values of HTTP headers.
 * @throws A2AError `invalidParams` that names the field, without its value.
 */
export function checkPushConfig(guard: Guard, { config, path = '' }: ConfigToCheck): void {
  const prefix = path === '' ? '' : `${path}.`
  guard.check(config.url, `${prefix}url`)
  const { token = '', authentication } = config
  if (!isHeaderValue(token)) throw unsendable(`${prefix}token`)
  if (!authentication) return
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(authentication.scheme))
    throw unsendable(`${prefix}authentication.scheme`)
  if (!isHeaderValue(authentication.credentials ?? ''))
    throw unsendable(`${prefix}authentication.credentials`)
}

/** Visible ASCII, blanks between (RFC 9110 §5.5). */
function isHeaderValue(text: string): boolean {
  return /^[\x20-\x7e\t]*$/.test(text)
}

function unsendable(field: string): A2AError {
  const description = 'cannot be sent in an HTTP header'
  return new A2AError('invalidParams', `${field} ${description}`, {
    violations: [{ field, description }],
  })
}
