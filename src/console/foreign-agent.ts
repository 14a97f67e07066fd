import { A2AClient } from '../client/client.ts'
import type { HttpClient } from '../client/http.ts'
import type { Guard } from '../network/guard.ts'
import type { Clock } from '../shared/clock.ts'

/** A way to agents elsewhere, under the rules of the network guard. */
export interface Way {
  readonly guard: Guard
  readonly http: HttpClient
}

/** An agent elsewhere that is asked something. */
export interface ForeignAgent extends Way {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly clock: Clock
  readonly signal?: AbortSignal
}

/** A client for one request: nothing is kept of the agent. */
export function clientOf({ url, headers, http, clock }: ForeignAgent): A2AClient {
  return new A2AClient({
    serverUrl: url,
    send: http.send,
    headers,
    clock,
    retry: { maxRetries: 0 },
  })
}
