import { createHash } from 'node:crypto'
import {
  generateAgentCardSignature,
  type AgentCard as PeerCard,
  verifyAgentCardSignature,
} from '@a2a-js/sdk'
import fc from 'fast-check'
import { exportJWK, FlattenedSign, flattenedVerify, generateKeyPair, type JWK } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { A2AError } from '../../src/protocol/errors.ts'
import {
  canonicalCard,
  createJkuResolver,
  requireSignature,
  signCard,
  verifyCard,
} from '../../src/protocol/signature.ts'
import type { AgentCard } from '../../src/protocol/types.ts'
import { agentCard } from './arbitraries.ts'

const home = { url: 'https://a.example/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }

const card: AgentCard = {
  name: 'Writer',
  description: 'Writes things, zuverlässig 写.',
  supportedInterfaces: [home],
  version: '1.0.0',
  capabilities: { streaming: true, pushNotifications: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 's', name: 'S', description: 'd', tags: ['t'] }],
}

/** What a card says that asks for a token. */
const asking = {
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  securityRequirements: [{ schemes: { bearer: { list: [] } } }],
}

const header = { alg: 'ES256', kid: 'key-1' }
let secret: JWK
let trusted: { keys: JWK[] }

beforeAll(async () => {
  const pair = await generateKeyPair('ES256', { extractable: true })
  secret = await exportJWK(pair.privateKey)
  trusted = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'key-1' }] }
})

/** The payload of a2a-python's `canonicalize_agent_card`: no empty value at any depth, and no letter beyond ASCII. */
function pythonForm({ signatures: _, ...unsigned }: AgentCard): string {
  const clean = (value: unknown): unknown => {
    if (value === '' || value === null || value === undefined) return undefined
    if (typeof value !== 'object') return value
    if (Array.isArray(value)) {
      const items = value.map(clean).filter((item) => item !== undefined)
      return items.length > 0 ? items : undefined
    }
    const members = Object.entries(value).flatMap(([name, member]) => {
      const kept = clean(member)
      return kept === undefined ? [] : [[name, kept] as const]
    })
    return members.length > 0 ? Object.fromEntries(members.sort()) : undefined
  }
  return JSON.stringify(clean(unsigned)).replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Whether a2a-python takes a card: one of its signatures must be over its payload. */
async function verifyAsPython(card: AgentCard): Promise<boolean> {
  const payload = Buffer.from(pythonForm(card)).toString('base64url')
  for (const { protected: head, signature } of card.signatures ?? []) {
    const jws = { payload, protected: head, signature }
    const held = await flattenedVerify(jws, trusted.keys[0] ?? {}).catch(() => undefined)
    if (held) return true
  }
  return false
}

describe('the canonical form', () => {
  test('A018: keeps required and explicitly set optional fields, drops other defaults', () => {
    const fragment = {
      name: 'Example Agent',
      description: '',
      capabilities: { streaming: false, pushNotifications: false, extensions: [] },
      skills: [],
    }
    expect(canonicalCard(fragment)).toBe(
      '{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}',
    )
  })

  test('A017: is JCS of the card without signatures', () => {
    const signatures = [{ protected: 'a', signature: 'b' }]
    expect(canonicalCard({ ...card, signatures })).toBe(canonicalCard(card))
    expect(canonicalCard({ version: '1', name: '\u20ac\n', description: 'é' })).toBe(
      '{"description":"é","name":"€\\n","version":"1"}',
    )
  })

  test('does not depend on the order of members', () => {
    const reversed = Object.fromEntries(Object.entries(card).reverse())
    expect(canonicalCard(reversed)).toBe(canonicalCard(card))
  })

  test('does not see the 0.3 half of a superset card', () => {
    const superset = { ...card, url: 'https://a.example/', protocolVersion: '0.3.0', security: [] }
    expect(canonicalCard(superset)).toBe(canonicalCard(card))
  })

  test('keeps an empty member of a oneof, which says which one it is', () => {
    const securitySchemes = { tls: { mtlsSecurityScheme: { description: '' } } }
    expect(canonicalCard({ securitySchemes })).toBe(
      '{"securitySchemes":{"tls":{"mtlsSecurityScheme":{}}}}',
    )
  })

  test('keeps free JSON as it is', () => {
    const extensions = [{ uri: 'u', required: false, params: { a: '', b: [], c: false } }]
    expect(canonicalCard({ capabilities: { extensions } })).toBe(
      '{"capabilities":{"extensions":[{"params":{"a":"","b":[],"c":false},"uri":"u"}]}}',
    )
  })
})

describe('a signed card', () => {
  test('A019: names algorithm, key and type in the protected header', async () => {
    const signed = await signCard(card, secret, { ...header, jku: 'https://keys.example/set' })
    const protectedHeader = signed.signatures?.[0]?.protected ?? ''
    expect(JSON.parse(Buffer.from(protectedHeader, 'base64url').toString())).toEqual({
      alg: 'ES256',
      kid: 'key-1',
      typ: 'JOSE',
      jku: 'https://keys.example/set',
      'urn:corral:card': createHash('sha256').update(canonicalCard(card)).digest('base64url'),
    })
  })

  test('A020: holds after a trip over the wire, with defaults and unknown fields added', async () => {
    const signed = await signCard(card, secret, header)
    const served = {
      ...JSON.parse(JSON.stringify(signed)),
      url: 'https://a.example',
      provider: null,
    }
    served.capabilities.extensions = []
    expect(await verifyCard(served, { keys: trusted })).toEqual([
      { valid: true, kid: 'key-1' },
      { valid: true, kid: 'key-1' },
    ])
  })

  test('is signed in the forms of the official SDKs where theirs differ, for their verifiers', async () => {
    const plain = { ...card, description: 'Writes things.' }
    for (const [given, count] of [
      [plain, 1],
      [card, 2],
      [{ ...plain, ...asking }, 2],
      [{ ...card, ...asking }, 3],
    ] as const) {
      const signed = await signCard(given, secret, header)
      expect(signed.signatures).toHaveLength(count)
      expect((await verifyCard(signed, { keys: trusted })).every(({ valid }) => valid)).toBe(true)
      await expect(verifyAsPython(signed)).resolves.toBe(true)
    }
  })

  test('no longer holds by any of its forms once its requirements are weakened', async () => {
    const signed = await signCard({ ...card, ...asking }, secret, header)
    for (const securityRequirements of [
      undefined,
      [],
      [{ schemes: {} }],
      [...asking.securityRequirements, { schemes: {} }],
      [{ schemes: { other: { list: [] } } }],
    ]) {
      const changed = { ...signed, securityRequirements }
      const verdicts = await verifyCard(changed, { keys: trusted })
      expect(verdicts.map(({ valid }) => valid)).toEqual([false, false, false])
    }
  })

  test('no longer holds once requirements are put into it, in any spelling', async () => {
    const open = { ...card, description: 'Writes.', securitySchemes: asking.securitySchemes }
    const signed = await signCard(open, secret, header)
    for (const change of [
      { securityRequirements: asking.securityRequirements },
      { security: [{ bearer: [] }] },
      { skills: [{ ...card.skills[0], security: [{ bearer: [] }] }] },
    ]) {
      const verdicts = await verifyCard({ ...signed, ...change }, { keys: trusted })
      expect(verdicts.map(({ valid }) => valid)).toEqual([false])
    }
  })

  test('says nothing of schemes and requirements in the spelling of 0.3, and does not hold with them', async () => {
    const own = { other: {} }
    const bare = [{}]
    // Neither is of the type: what stands in a file may be anything.
    const odd = {
      ...card,
      securitySchemes: own,
      securityRequirements: bare,
    } as unknown as AgentCard
    const signed = await signCard(odd, secret, header)
    const url = 'https://evil.example/'
    for (const change of [
      { securitySchemes: { other: { type: 'openIdConnect', openIdConnectUrl: url } } },
      { securityRequirements: [{ other: [] }] },
    ]) {
      const verdicts = await verifyCard({ ...signed, ...change }, { keys: trusted })
      expect(verdicts.filter(({ valid }) => valid)).toEqual([])
    }
  })

  test('holds for any card', async () => {
    const property = fc.asyncProperty(agentCard, async (any) => {
      const { signatures: _, ...unsigned } = any
      // Signing reads the card as unknown JSON; the type only says which card is meant.
      const signed = await signCard(unsigned as unknown as AgentCard, secret, header)
      const verdicts = await verifyCard(signed, { keys: trusted })
      const [first, ...others] = verdicts
      expect(first).toEqual({ valid: true, kid: 'key-1' })
      expect(others).toEqual((signed.signatures ?? []).slice(1).map(() => first))
    })
    await fc.assert(property, { numRuns: 50 })
  })

  test('no longer holds once anything in it is changed', async () => {
    const signed = await signCard(card, secret, header)
    const changes: Partial<AgentCard>[] = [
      { name: 'Other' },
      { supportedInterfaces: [{ ...home, url: 'https://evil.example/' }] },
      { capabilities: { streaming: true } },
      { iconUrl: 'https://evil.example/icon' },
      { securityRequirements: [{ schemes: {} }] },
    ]
    for (const change of changes) {
      const verdicts = await verifyCard({ ...signed, ...change }, { keys: trusted })
      expect(verdicts.map(({ valid }) => valid)).toEqual([false, false])
    }
  })

  test('holds where every member was signed as it is served, as signers of 0.3 cards do', async () => {
    const old = { name: 'Old', protocolVersion: '0.3.0', url: 'https://a.example/', security: [] }
    const payload = new TextEncoder().encode(
      '{"name":"Old","protocolVersion":"0.3.0","security":[],"url":"https://a.example/"}',
    )
    const { signature, protected: head } = await new FlattenedSign(payload)
      .setProtectedHeader(header)
      .sign(secret)
    const signatures = [{ protected: head, signature }]
    expect(await verifyCard({ ...old, signatures }, { keys: trusted })).toMatchObject([
      { valid: true },
    ])
    const changed = { ...old, url: 'https://b.example/', signatures }
    expect(await verifyCard(changed, { keys: trusted })).toMatchObject([{ valid: false }])
  })

  test('A021: needs one signature that holds, and may carry others', async () => {
    const other = await exportJWK(
      (await generateKeyPair('EdDSA', { extractable: true })).privateKey,
    )
    const twice = await signCard(
      await signCard(card, other, { alg: 'EdDSA', kid: 'unknown' }),
      secret,
      header,
    )
    expect((await verifyCard(twice, { keys: trusted })).map(({ valid }) => valid)).toEqual([
      ...[false, false],
      ...[true, true],
    ])
    await expect(requireSignature(twice, { keys: trusted })).resolves.toBeUndefined()
  })

  test('A020: is refused when its key is revoked', async () => {
    const signed = await signCard(card, secret, header)
    await expect(requireSignature(signed, { resolve: async () => undefined })).rejects.toThrow(
      'key key-1 is not trusted',
    )
  })

  test('keeps the signatures that it had, and its own come after them', async () => {
    const before = { protected: 'p', signature: 's' }
    const signed = await signCard({ ...card, signatures: [before] }, secret, header)
    expect(signed.signatures?.[0]).toEqual(before)
    const verdicts = await verifyCard(signed, { keys: trusted })
    expect(verdicts.map(({ valid }) => valid)).toEqual([false, true, true])
  })

  test('is looked at up to its sixteenth signature', async () => {
    const { signatures = [] } = await signCard(card, secret, header)
    const [held] = signatures
    const wrong = { protected: held?.protected ?? '', signature: 'AAAA' }
    const behind = (count: number) =>
      requireSignature(
        { ...card, signatures: [...Array(count).fill(wrong), held] },
        { keys: trusted },
      )
    await expect(behind(15)).resolves.toBeUndefined()
    await expect(behind(16)).rejects.toThrow('No signature holds')
  })

  test('is refused with the reason of each signature', async () => {
    const { signatures = [] } = await signCard(card, secret, header)
    const [held] = signatures
    const reasons = {
      'a signature is not an object': 7,
      'a signature lacks its protected header or value': { protected: held?.protected },
      'the algorithm is not allowed': { protected: 'AAAA', signature: 'AAAA' },
      'the key is not named': {
        protected: Buffer.from('{"alg":"ES256","kid":""}').toString('base64url'),
        signature: 'AAAA',
      },
      'the card does not match the signature of key-1': { ...held, signature: 'AAAA' },
    }
    const bad = { ...card, signatures: Object.values(reasons) }
    await expect(requireSignature(bad, { keys: trusted })).rejects.toMatchObject({
      code: 'invalidAgentResponse',
      message: `No signature holds: ${Object.keys(reasons).join('; ')}`,
    })
  })

  test('shows its resolver the algorithm, the key and where that is, and nothing else', async () => {
    const seen: unknown[] = []
    const resolve = async (asked: unknown): Promise<undefined> => {
      seen.push(asked)
      return undefined
    }
    const jku = 'https://keys.example/set.json'
    await verifyCard(await signCard(card, secret, { ...header, jku }), { resolve })
    await verifyCard(await signCard(card, secret, header), { resolve })
    expect(seen).toEqual([
      ...[
        { ...header, jku },
        { ...header, jku },
      ],
      ...[header, header],
    ])
  })

  test('is refused when it is not signed at all', async () => {
    await expect(requireSignature(card, { keys: trusted })).rejects.toThrow(A2AError)
    await expect(requireSignature('no card', { keys: trusted })).rejects.toThrow('not signed')
  })
})

describe('a signature that must not be believed', () => {
  test('does not make the server write the card where no key is trusted', async () => {
    const signed = await signCard(card, secret, header)
    let reads = 0
    const watched = {
      ...signed,
      get name() {
        reads++
        return card.name
      },
    }
    const resolve = async () => undefined
    const verdicts = await verifyCard(watched, { resolve })
    expect(verdicts.map(({ valid }) => valid)).toEqual([false, false])
    expect(reads).toBe(0)
    expect((await verifyCard(watched, { keys: trusted })).map(({ valid }) => valid)).toEqual([
      ...[true, true],
    ])
  })

  const forge = (fields: object): string =>
    Buffer.from(JSON.stringify(fields)).toString('base64url')

  test.each([
    ['without algorithm', forge({ kid: 'key-1' })],
    ['with the algorithm none', forge({ alg: 'none', kid: 'key-1' })],
    ['without a key id', forge({ alg: 'ES256' })],
    ['with a header that is no JSON', 'AAAA'],
    ['with a header that is no base64', '%%%'],
  ])('%s is refused before any key is sought', async (_name, head) => {
    const signatures = [{ protected: head, signature: 'AAAA' }]
    const resolve = async (): Promise<undefined> => {
      throw new Error('A key was sought')
    }
    const [verdict] = await verifyCard({ ...card, signatures }, { resolve })
    expect(verdict?.valid).toBe(false)
    expect(verdict?.reason).not.toContain('trusted')
  })

  test('with a shared secret is refused: the public key is no HMAC key', async () => {
    const publicBytes = new TextEncoder().encode(JSON.stringify(trusted.keys[0]))
    const jws = await new FlattenedSign(new TextEncoder().encode(canonicalCard(card)))
      .setProtectedHeader({ alg: 'HS256', kid: 'key-1' })
      .sign(publicBytes)
    const signatures = [{ protected: jws.protected, signature: jws.signature }]
    const [verdict] = await verifyCard({ ...card, signatures }, { keys: trusted })
    expect(verdict).toEqual({ valid: false, reason: 'the algorithm is not allowed' })
    await expect(signCard(card, secret, { alg: 'HS256', kid: 'k' })).rejects.toThrow(A2AError)
  })

  test('of a shape that is none is refused without a throw', async () => {
    for (const signatures of [[null], ['x'], [{}], [{ protected: 1, signature: 2 }]]) {
      const [verdict] = await verifyCard({ ...card, signatures }, { keys: trusted })
      expect(verdict?.valid).toBe(false)
    }
  })

  test('over a card that has no canonical form is refused without a throw', async () => {
    const signed = await signCard(card, secret, header)
    let nested: unknown = {}
    for (let depth = 0; depth < 50_000; depth++) nested = [nested]
    for (const change of [{ name: '\ud800' }, { securityRequirements: [nested] }]) {
      const verdicts = await verifyCard({ ...signed, ...change }, { keys: trusted })
      expect(verdicts.map(({ valid }) => valid)).toEqual([false, false])
    }
  })
})

describe('a signature without the values that are empty, as peers make it', () => {
  const schemes = { oauth: { list: ['read'] } }
  const open = { ...card, description: 'Writes.', securitySchemes: asking.securitySchemes }
  const signs = async (unsigned: AgentCard): Promise<AgentCard> => {
    const payload = new TextEncoder().encode(pythonForm(unsigned))
    const jws = await new FlattenedSign(payload).setProtectedHeader(header).sign(secret)
    const signatures = [{ protected: jws.protected ?? '', signature: jws.signature }]
    return { ...unsigned, signatures }
  }

  test('holds for a card that asks for credentials without scopes, or with them', async () => {
    for (const unsigned of [
      { ...open, ...asking },
      { ...open, securityRequirements: [{ schemes }] },
      { ...open, description: 'Schreibt für 写.' },
    ])
      expect(await verifyCard(await signs(unsigned), { keys: trusted })).toMatchObject([
        { valid: true },
      ])
  })

  test('lets nobody slip in a requirement that asks for nothing, or for less', async () => {
    const signed = await signs({ ...open, securityRequirements: [{ schemes }] })
    for (const securityRequirements of [
      [{ schemes }, { schemes: {} }],
      [{ schemes }, { schemes: { bearer: { list: [] } } }],
      [{ schemes: {} }],
      [],
    ]) {
      const [verdict] = await verifyCard({ ...signed, securityRequirements }, { keys: trusted })
      expect(verdict?.valid).toBe(false)
    }
    const two = { ...open.securitySchemes, key: open.securitySchemes.bearer }
    const both = { bearer: { list: [] }, key: { list: [] } }
    const strong = { ...open, securitySchemes: two, securityRequirements: [{ schemes: both }] }
    const asksBoth = await signs(strong)
    expect(await verifyCard(asksBoth, { keys: trusted })).toMatchObject([{ valid: true }])
    for (const change of [
      { securityRequirements: [{ schemes: { key: { list: [] } } }] },
      { securityRequirements: [{ schemes: both }, { schemes: { key: { list: [] } } }] },
      { securityRequirements: undefined, security: [{ key: [] }] },
    ]) {
      const [verdict] = await verifyCard({ ...asksBoth, ...change }, { keys: trusted })
      expect(verdict?.valid).toBe(false)
    }
    const bare = await signs(open)
    const other = { type: 'openIdConnect', openIdConnectUrl: 'https://evil.example/' }
    const slipped = { ...bare, securitySchemes: { ...open.securitySchemes, other } }
    expect((await verifyCard(slipped, { keys: trusted }))[0]?.valid).toBe(false)
    const [verdict] = await verifyCard(
      { ...bare, securityRequirements: [{ schemes: {} }] },
      { keys: trusted },
    )
    expect(verdict?.valid).toBe(false)
  })
})

describe('keys by jku', () => {
  const jku = 'https://keys.example/set.json'
  const fetched: string[] = []
  const fetchJson = async (url: string): Promise<unknown> => {
    fetched.push(url)
    return trusted
  }

  test('are fetched from an allowed place', async () => {
    const signed = await signCard(card, secret, { ...header, jku })
    for (const allow of [[jku], ['https://keys.example']]) {
      const resolve = createJkuResolver({ allow, fetchJson })
      const verdict = { valid: true, kid: 'key-1' }
      expect(await verifyCard(signed, { resolve })).toEqual([verdict, verdict])
    }
  })

  test.each([
    'https://evil.example/set.json',
    'https://keys.example.evil.example/set.json',
    'https://keys.example@evil.example/set.json',
    'http://keys.example/set.json',
    'not a url',
  ])('are never fetched from %s', async (elsewhere) => {
    fetched.length = 0
    const signed = await signCard(card, secret, { ...header, jku: elsewhere })
    const resolve = createJkuResolver({ allow: ['https://keys.example'], fetchJson })
    const verdicts = await verifyCard(signed, { resolve })
    expect(verdicts.map(({ valid }) => valid)).toEqual([false, false])
    expect(fetched).toEqual([])
  })

  test('that cannot be fetched or are none leave the signature unbelieved', async () => {
    const signed = await signCard(card, secret, { ...header, jku })
    const answers = [null, {}, { keys: 'x' }, { keys: [1] }, Promise.reject(new Error('down'))]
    for (const answer of answers) {
      const resolve = createJkuResolver({ allow: [jku], fetchJson: async () => answer })
      const verdicts = await verifyCard(signed, { resolve })
      expect(verdicts.map(({ valid }) => valid)).toEqual([false, false])
    }
  })
})

describe('beside @a2a-js/sdk', () => {
  // The peer's in-memory card has members for every proto field; on the wire both are the same JSON.
  const peerCard = { ...card, securitySchemes: {}, securityRequirements: [], signatures: [] }

  test('A017: what the peer signs, we verify, its stripped empties included', async () => {
    const sign = generateAgentCardSignature(secret, { alg: 'ES256', kid: 'key-1', typ: 'JOSE' })
    for (const change of [{ description: 'Writes' }, { description: '' }, asking]) {
      const given = { ...peerCard, ...change } as unknown as PeerCard // the peer's type of the same JSON
      const signed = await sign(given)
      const served = JSON.parse(JSON.stringify(signed))
      expect(await verifyCard(served, { keys: trusted })).toEqual([{ valid: true, kid: 'key-1' }])
    }
  })

  test('A017: what we sign, the peer verifies', async () => {
    const verify = verifyAgentCardSignature(async () => trusted.keys[0] as JWK) // set before all tests
    for (const change of [{}, asking]) {
      const signed = await signCard({ ...card, ...change }, secret, header)
      await expect(verify(signed as unknown as PeerCard)).resolves.toBeUndefined() // the same JSON
    }
  })
})
