import { signal } from '@preact/signals'
import type { ApiRefusal, Login } from '../../src/console/api.ts'
import type { Explanation } from '../../src/protocol/failure.ts'

/** An answer of the server that refuses. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: number
  readonly code: string
  /** Why, in the error's own words, for those who may read them. */
  readonly why: Explanation | undefined

  constructor(status: number, { code, message, why }: ApiRefusal['error']) {
    super(message)
    this.status = status
    this.code = code
    this.why = why
  }
}

/** What the user is asked for after a 401; undefined while nobody has to sign in. */
export const loginAsked = signal<LoginAsked | undefined>(undefined)

/** Why the user is asked, and by which headers the server takes credentials. */
export interface LoginAsked {
  readonly message: string
  readonly logins: readonly Login[]
}

const usual: readonly Login[] = [
  { label: 'Token', header: 'Authorization', prefix: 'Bearer ' },
  { label: 'API key', header: 'X-API-Key', prefix: '' },
]

const kept = 'corral.credential'

/** Keeps a credential for this tab and stops asking. */
export function signIn({ header, prefix }: Login, credential: string): void {
  sessionStorage.setItem(kept, JSON.stringify([header, `${prefix}${credential}`]))
  loginAsked.value = undefined
}

/** Forgets the credential. */
export function signOut(): void {
  sessionStorage.removeItem(kept)
}

/** Whether this tab holds a credential. */
export function isSignedIn(): boolean {
  return sessionStorage.getItem(kept) !== null
}

/**
 * Asks this page's own server.
 * @throws Refused with the server's own words; a 401 also asks the user to sign in.
 */
export async function askServer(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(path, {
    ...init,
    cache: 'no-store',
    headers: { ...credential(), ...Object.fromEntries(new Headers(init.headers)) },
  })
  if (response.ok) return response
  const refusal = await refusalOf(response)
  if (response.status === 401)
    loginAsked.value = {
      message: isSignedIn() ? 'These credentials were not accepted.' : refusal.error.message,
      logins: refusal.error.logins?.length ? refusal.error.logins : usual,
    }
  throw new Refused(response.status, refusal.error)
}

/** Reads from the console's API. */
export async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await askServer(`/console/api/${path}`, signal ? { signal } : {})
  return response.json() as Promise<T> // the server answers with the types of api.ts
}

/** Writes to the console's API. */
export async function write<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await post(path, body, signal)
  return response.json() as Promise<T> // the server answers with the types of api.ts
}

/** Posts to the console's API; the answer may be a stream. */
export function post(path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  return askServer(`/console/api/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body ?? {}),
    ...(signal && { signal }),
  })
}

/** What a fault is in a sentence for people. */
export function sentenceOf(fault: unknown): string {
  if (fault instanceof Refused) return fault.message
  if (fault instanceof TypeError) return 'The server cannot be reached.'
  return fault instanceof Error ? fault.message : 'Something went wrong.'
}

function credential(): Record<string, string> {
  const text = sessionStorage.getItem(kept)
  if (text === null) return {}
  const [header, value] = JSON.parse(text) as [string, string] // as signIn wrote it
  return { [header]: value }
}

async function refusalOf(response: Response): Promise<ApiRefusal> {
  const body: unknown = await response.json().catch(() => undefined)
  const error: unknown = Object(body).error
  const { code, message, logins, why } = Object(error) as Partial<ApiRefusal['error']> // checked below
  return {
    error: {
      code: typeof code === 'string' ? code : `${response.status}`,
      message: typeof message === 'string' ? message : `The server answered ${response.status}.`,
      ...(Array.isArray(logins) && { logins }),
      ...(why && { why }),
    },
  }
}
