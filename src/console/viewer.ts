import type { AuthContext } from '../protocol/call.ts'
import { hasScope, mustReachAgent, type ScopeName } from '../protocol/scopes.ts'
import type { Scope, TaskHead } from '../store/store.ts'

/** Who looks at the console, and what that caller may see. */
export interface Viewer {
  readonly auth: AuthContext
  /** Whether the tasks of all are shown. */
  readonly isOperator: boolean
  /** Whether an agent may be asked about with this credential. */
  reaches(agentId: string): boolean
  /** Whether a task is the caller's own. */
  owns(head: TaskHead): boolean
  /** Whether a task may be shown. */
  sees(head: TaskHead): boolean
  /** The scopes in which the caller's own tasks of an agent are listed. */
  scopesOf(agentId: string): readonly Scope[]
}

/** A request of the page names no tenant. */
const noTenant: readonly string[] = ['']

/** What is known of a caller as a viewer. A credential for certain tenants sees its own tasks alone, operator or not. */
export function toViewer(auth: AuthContext): Viewer {
  const { userId: owner, tenants } = auth
  const isOperator = hasScope(auth, 'operator') && tenants === undefined
  const reaches = (agentId: string): boolean => {
    try {
      mustReachAgent(auth, agentId)
      return true
    } catch {
      return false
    }
  }
  const own = tenants ?? noTenant
  const owns = ({ scope }: TaskHead): boolean => scope.owner === owner && own.includes(scope.tenant)
  return {
    auth,
    isOperator,
    reaches,
    owns,
    sees: (head) => reaches(head.scope.agent) && (isOperator || owns(head)),
    scopesOf: (agent) => own.map((tenant) => ({ agent, tenant, owner })),
  }
}

const implied: readonly ScopeName[] = ['tasks:read', 'tasks:write', 'push']

/** The scopes that a caller has, also where its credential names none. */
export function scopesShown(auth: AuthContext): readonly string[] {
  const named = auth.scopes ?? []
  return implied.some((scope) => named.includes(scope)) || named.includes('operator')
    ? named
    : [...implied, ...named]
}
