import { type AuthContext, anonymous, type Call } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type { OperationName } from '../protocol/operations.ts'
import type { SecurityRequirement, SecurityScheme } from '../protocol/types.ts'
import type { Authenticator } from './authenticator.ts'

/** Who may call a server. */
export interface AuthOptions {
  /** Tried in order; the first that knows the caller decides. */
  readonly authenticators: readonly Authenticator[]
  /** Whether callers that nobody knows are refused; true if absent. */
  readonly required?: boolean
  /** Whether a known caller may do this; false is `forbidden`. */
  authorize?(auth: AuthContext, operation: OperationName): boolean | Promise<boolean>
}

/** What a server asks of its callers. */
export interface Auth {
  /** Who calls, whatever it is about. @throws A2AError `unauthenticated` with the challenges of all authenticators. */
  identify(call: Call): AuthContext | Promise<AuthContext>
  /** @throws A2AError `unauthenticated` with the challenges of all authenticators, or `forbidden`. */
  authenticate(call: Call, operation: OperationName): AuthContext | Promise<AuthContext>
  readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  readonly securityRequirements: readonly SecurityRequirement[]
  /** Whether anyone may call. */
  readonly open: boolean
}

/** Lets everyone in as the anonymous caller. */
export const openAuth: Auth = {
  identify: () => anonymous,
  authenticate: () => anonymous,
  securitySchemes: {},
  securityRequirements: [],
  open: true,
}

/** Makes the server's side of authentication. */
export function createAuth(options: AuthOptions): Auth {
  const { authenticators, required = true } = options
  const challenge = [...new Set(authenticators.map((one) => one.challenge))].join(', ')
  const shown = authenticators.flatMap(({ name, scheme }) => (scheme ? [{ name, scheme }] : []))

  async function identify(call: Call): Promise<AuthContext> {
    for (const authenticator of authenticators) {
      const auth = await attempt(authenticator, call, challenge)
      if (auth) return auth
    }
    if (!required) return anonymous
    throw new A2AError('unauthenticated', 'Authentication is required', { challenge })
  }

  return {
    identify,
    async authenticate(call, operation) {
      const auth = await identify(call)
      if (options.authorize && !(await options.authorize(auth, operation)))
        throw new A2AError('forbidden', `You may not use ${operation}`)
      return auth
    },
    securitySchemes: Object.fromEntries(shown.map(({ name, scheme }) => [name, scheme])),
    securityRequirements: required
      ? shown.map(({ name }) => ({ schemes: { [name]: { list: [] } } }))
      : [],
    open: !required,
  }
}

async function attempt(
  authenticator: Authenticator,
  call: Call,
  challenge: string,
): Promise<AuthContext | undefined> {
  try {
    return await authenticator.authenticate(call)
  } catch (thrown) {
    if (thrown instanceof A2AError && thrown.code === 'forbidden') throw thrown
    throw new A2AError('unauthenticated', 'The credentials do not hold', {
      challenge,
      cause: thrown,
    })
  }
}
