import { type AuthContext, anonymous, type Call } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type { OperationName } from '../protocol/operations.ts'
import type { SecurityRequirement, SecurityScheme } from '../protocol/types.ts'
import { type Logger, silent } from '../shared/log.ts'
import type { Authenticator } from './authenticator.ts'
import { refusalReason } from './presented.ts'

/** Who may call a server. */
export interface AuthOptions {
  /** Tried in order; the first that knows the caller decides. A credential that none of them knows is refused. */
  readonly authenticators: readonly Authenticator[]
  /** Whether callers without a credential are refused; true if absent. */
  readonly required?: boolean
  /** Whether a known caller may do this; false is `forbidden`. */
  authorize?(auth: AuthContext, operation: OperationName): boolean | Promise<boolean>
}

/** Authenticates the callers of a server: what `createAuth` makes of authenticators. */
export interface Auth {
  /**
   * Who calls, if they may do this.
   * @throws A2AError `unauthenticated` with the challenges of all authenticators, or `forbidden`.
   */
  authenticate(call: Call, operation: OperationName): AuthContext | Promise<AuthContext>
  /** Who calls; undefined where no credential is presented and one is needed. @throws A2AError `unauthenticated`. */
  find(call: Call): AuthContext | undefined | Promise<AuthContext | undefined>
  /** Who calls, whatever for. @throws A2AError `unauthenticated` with the challenges of all authenticators. */
  identify(call: Call): AuthContext | Promise<AuthContext>
  /** What the card says of the ways to authenticate. */
  readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  /** What the card says a caller must satisfy. */
  readonly securityRequirements: readonly SecurityRequirement[]
  /** Whether anyone may call. */
  readonly open: boolean
  /** The authorization servers whose tokens are taken. */
  readonly issuers: readonly string[]
}

/** Lets everyone in as the anonymous caller. */
export const openAuth: Auth = {
  authenticate: () => anonymous,
  find: () => anonymous,
  identify: () => anonymous,
  securitySchemes: {},
  securityRequirements: [],
  open: true,
  issuers: [],
}

/**
 * Makes one `Auth` of authenticators, as a server does for its `auth` option. Why a credential was refused goes to the
 * log, not to the caller.
 */
export function createAuth(options: AuthOptions, logger: Logger = silent): Auth {
  const { authenticators, required = true } = options
  const challenge = [...new Set(authenticators.map((one) => one.challenge))].join(', ')
  const shown = authenticators.flatMap(({ name, scheme }) => (scheme ? [{ name, scheme }] : []))
  /** Callers whom an earlier step of the same request found: they are not asked again. */
  const found = new WeakSet<AuthContext>()

  async function find(call: Call): Promise<AuthContext | undefined> {
    if (call.auth && found.has(call.auth)) return call.auth
    const refusals: Refusal[] = []
    for (const authenticator of authenticators) {
      const auth = await attempt(authenticator, call, refusals)
      if (!auth) continue
      found.add(auth)
      return auth
    }
    if (refusals.length > 0 || call.headers?.authorization) throw refuse(call, refusals)
    return required ? undefined : anonymous
  }

  async function identify(call: Call): Promise<AuthContext> {
    const auth = await find(call)
    if (auth) return auth
    throw new A2AError('unauthenticated', 'Authentication is required', { challenge })
  }

  function refuse(call: Call, refusals: readonly Refusal[]): A2AError {
    const reasons = refusals.map(({ name, cause }) => `${name}: ${refusalReason(cause, call)}`)
    const reason = reasons.join('; ') || 'the Authorization header is of no kind that is known'
    logger.warn({ client: call.client ?? '', reason }, 'A credential was refused')
    const cause = refusals[0]?.cause
    return new A2AError('unauthenticated', 'The credentials do not hold', { challenge, cause })
  }

  return {
    find,
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
    issuers: [...new Set(authenticators.flatMap(({ issuer }) => issuer ?? []))],
  }
}

/** Who refused a credential, and what it threw. */
interface Refusal {
  readonly name: string
  readonly cause: unknown
}

/** Whom an authenticator knows; what it refuses may still be another's. */
async function attempt(
  authenticator: Authenticator,
  call: Call,
  refusals: Refusal[],
): Promise<AuthContext | undefined> {
  try {
    return await authenticator.authenticate(call)
  } catch (cause) {
    if (cause instanceof A2AError && cause.code === 'forbidden') throw cause
    refusals.push({ name: authenticator.name, cause })
    return undefined
  }
}
