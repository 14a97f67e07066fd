import { describe, expect, test } from 'vitest'
import { A2AError } from '../../src/protocol/errors.ts'
import { type Auth, createAuth } from '../../src/server/access/auth.ts'
import type { Authenticator, PresentedCredentials } from '../../src/server/authenticator.ts'
import { createServer } from '../../src/server/server.ts'
import { scripted } from '../acceptance/serve.ts'

/** An authenticator, and credentials that hold and that do not. */
export interface AuthenticatorUnderTest {
  readonly authenticator: Authenticator
  /** Two callers by what they present; nothing but headers, or metadata, and a query. */
  readonly known: Readonly<Record<'ann' | 'bob', PresentedCredentials>>
  /** Credentials of its kind that do not hold, and the secret in them. */
  readonly wrong: readonly { readonly presented: PresentedCredentials; readonly secret: string }[]
}

/** What every authenticator owes its server. A new scheme passes this; these rules are tested nowhere else. */
export function describeAuthenticator(
  name: string,
  open: () => AuthenticatorUnderTest | Promise<AuthenticatorUnderTest>,
): void {
  describe(`${name} authenticator`, () => {
    test('knows callers by what they present, on any transport', async () => {
      const { authenticator, known } = await open()
      for (const [userId, presented] of Object.entries(known))
        expect(await authenticator.authenticate(presented)).toMatchObject({ userId })
    })

    test('knows nobody where no credential of its kind is presented', async () => {
      const { authenticator } = await open()
      const others: readonly PresentedCredentials[] = [
        {},
        { headers: {} },
        { headers: { authorization: 'Basic YW5uOnNlY3JldA==', cookie: 'other=1' }, query: 'q=1' },
      ]
      for (const presented of others)
        expect(await authenticator.authenticate(presented)).toBeUndefined()
    })

    test('refuses a credential that does not hold, and does not repeat it', async () => {
      const { authenticator, wrong } = await open()
      const auth = createAuth({ authenticators: [authenticator] })
      for (const { presented, secret } of wrong) {
        const refusal = await refusalOf(auth, presented)
        expect(refusal).toMatchObject({ code: 'unauthenticated' })
        expect(refusal.details.challenge).toBe(authenticator.challenge)
        expect(refusal.message).not.toContain(secret)
      }
    })

    test('tells callers apart who come at once', async () => {
      const { authenticator, known } = await open()
      const asked = Array.from({ length: 20 }, (_, i): 'ann' | 'bob' =>
        i % 2 === 0 ? 'ann' : 'bob',
      )
      const found = await Promise.all(asked.map((who) => authenticator.authenticate(known[who])))
      expect(found.map((one) => one?.userId)).toEqual(asked)
    })

    test('changes nothing of what is presented', async () => {
      const { authenticator, known } = await open()
      const { headers = {}, query } = known.ann
      const frozen = {
        headers: Object.freeze({ ...headers }),
        ...(query !== undefined && { query }),
      }
      expect(await authenticator.authenticate(Object.freeze(frozen))).toMatchObject({
        userId: 'ann',
      })
    })

    test('has a name, a challenge that HTTP can carry, and a scheme that a card can show', async () => {
      const { authenticator } = await open()
      expect(authenticator.name).not.toBe('')
      expect(authenticator.challenge).toMatch(/^[A-Za-z][\x20-\x7e]*$/)
      const { scheme } = authenticator
      expect(JSON.parse(JSON.stringify(scheme ?? {}))).toEqual(scheme ?? {})
    })

    test('keeps the tasks of a server to their owners, without a request of HTTP', async () => {
      const { authenticator, known } = await open()
      const auth = { authenticators: [authenticator] }
      const server = await createServer({ agents: [scripted('hi')], auth })
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } as const
      const configuration = { returnImmediately: true }
      const sent = await server.dispatch()('SendMessage', { message, configuration }, known.ann)
      if (!('task' in sent)) throw new Error('a task was expected')
      const { id } = sent.task
      expect(await server.dispatch()('GetTask', { id }, known.ann)).toMatchObject({ id })
      await expect(server.dispatch()('GetTask', { id }, known.bob)).rejects.toMatchObject({
        code: 'taskNotFound',
      })
      await expect(server.dispatch()('GetTask', { id }, {})).rejects.toMatchObject({
        code: 'unauthenticated',
      })
      await server.close()
    })
  })
}

async function refusalOf(auth: Auth, presented: PresentedCredentials): Promise<A2AError> {
  try {
    await auth.authenticate(presented, 'GetTask')
  } catch (thrown) {
    if (thrown instanceof A2AError) return thrown
  }
  throw new Error('the credential was expected to be refused')
}
