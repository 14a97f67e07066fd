import type { AuthContext, Call } from '../protocol/operations.ts'
import type { SecurityScheme } from '../protocol/types.ts'

/** What a caller presents: the headers of the request, names in lower case, its query, and its address. */
export type PresentedCredentials = Pick<Call, 'headers' | 'query' | 'client' | 'auth'>

/** One way to know who calls. Every card shows its scheme. */
export interface Authenticator {
  /** The scheme's name in the card. */
  readonly name: string
  /** How the card describes it; absent for a private extractor that no card can describe. */
  readonly scheme?: SecurityScheme
  /** The challenge of a 401 (`WWW-Authenticate`). */
  readonly challenge: string
  /** The authorization server whose tokens it takes, where there is one; the server's OAuth metadata names it. */
  readonly issuer?: string
  /**
   * Who calls; undefined if no credential of this kind is presented.
   * @throws A2AError `unauthenticated` for a credential that it does not know; another authenticator may. What it says
   * goes to the log.
   */
  authenticate(
    presented: PresentedCredentials,
  ): AuthContext | undefined | Promise<AuthContext | undefined>
}
