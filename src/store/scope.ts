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

/** The scope that a key is of; undefined for what is no key. */
export function parseScopeKey(key: string): Scope | undefined {
  const [head, ...lengths] = /^(\d{1,9}):(\d{1,9}):(\d{1,9}):/.exec(key) ?? []
  if (head === undefined) return undefined
  const [agent = 0, tenant = 0, owner = 0] = lengths.map(Number)
  const rest = key.slice(head.length)
  if (rest.length !== agent + tenant + owner) return undefined
  return {
    agent: rest.slice(0, agent),
    tenant: rest.slice(agent, agent + tenant),
    owner: rest.slice(agent + tenant),
  }
}
