import type { Scope } from './store.ts'

/** A scope as one string. Lengths go before the values, so that no two scopes read alike. */
export function scopeKey({ agent, tenant, owner }: Scope): string {
  return `${agent.length}:${tenant.length}:${owner.length}:${agent}${tenant}${owner}`
}

/** A context of a scope as one string. */
export function contextKey(scope: Scope, contextId: string): string {
  return scopeKey(scope) + contextId
}

/** Whether two scopes are the same. */
export function isSameScope(a: Scope, b: Scope): boolean {
  return a.owner === b.owner && a.agent === b.agent && a.tenant === b.tenant
}
