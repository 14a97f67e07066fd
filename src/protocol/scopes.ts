import { A2AError } from './errors.ts'

/** What a credential allows: to read tasks, to send and cancel, to register webhooks, to run the server. */
export type ScopeName = 'tasks:read' | 'tasks:write' | 'push' | 'operator'

/** The scopes that a credential may have, beside `agent:ID`. */
export const scopeNames: readonly ScopeName[] = ['tasks:read', 'tasks:write', 'push', 'operator']

const agentPrefix = 'agent:'

/** What a credential is good for; an `AuthContext` is one. */
export interface Grant {
  /** Names of scopes, and `agent:ID` for the agents it may reach; all but `operator` if it names none. */
  readonly scopes?: readonly string[]
  /** The tenants it may act for; any if absent. */
  readonly tenants?: readonly string[]
}

/** Whether a scope is one of ours: a name of the list, or `agent:ID`. */
export function isScope(scope: string): boolean {
  return isScopeName(scope) || (scope.startsWith(agentPrefix) && scope !== agentPrefix)
}

/** Tells whether a caller has a scope. A credential that names no scope has all of them but `operator`. */
export function hasScope({ scopes }: Grant, scope: ScopeName): boolean {
  if (!scopes?.some(isScopeName)) return scope !== 'operator'
  return scopes.includes(scope)
}

/** @throws A2AError `forbidden` with the challenge that names the scope which is missing (RFC 6750 §3.1). */
export function mustHaveScope(auth: Grant, scope: ScopeName): void {
  if (!hasScope(auth, scope)) throw insufficient(scope)
}

/**
 * A credential that names agents is good for these alone.
 * @throws A2AError `forbidden` with the challenge that names the scope which is missing.
 */
export function mustReachAgent({ scopes }: Grant, id: string): void {
  const own = agentPrefix + id
  if (scopes?.some((scope) => scope.startsWith(agentPrefix)) && !scopes.includes(own))
    throw insufficient(own)
}

/** @throws A2AError `forbidden` for a tenant that the credential is not good for. */
export function mustBeInTenant({ tenants }: Grant, tenant: string): void {
  if (tenants && !tenants.includes(tenant))
    throw new A2AError('forbidden', 'These credentials are not good for this tenant')
}

function isScopeName(scope: string): scope is ScopeName {
  return scopeNames.some((name) => name === scope)
}

function insufficient(scope: string): A2AError {
  // An agent's id may have characters that a header cannot carry.
  const named = scope.replace(/[^\x21\x23-\x5b\x5d-\x7e]/g, '?')
  return new A2AError('forbidden', `These credentials lack the scope ${scope}`, {
    reason: 'INSUFFICIENT_SCOPE',
    challenge: `Bearer error="insufficient_scope", scope="${named}"`,
  })
}
