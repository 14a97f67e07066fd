import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/**
 * Tokens that a stranger, or a careless issuer, might present. Each has a name; all but the honest ones are to be
 * refused, with one and the same answer.
 */

/** When the tokens are presented, in seconds. */
export const now = 1_800_000_000
/** Whose tokens are accepted. */
export const issuer = 'https://issuer.example'
/** Whom accepted tokens are for. */
export const audience = 'corral'

const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** The issuer's public keys. */
export const jwks = {
  keys: [
    { ...own.publicKey.export({ format: 'jwk' }), kid: 'own', alg: 'ES256', use: 'sig' },
    { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa', use: 'sig' },
  ],
}

const header = { alg: 'ES256', kid: 'own' }
const claims = { iss: issuer, aud: audience, sub: 'ann', exp: now + 60 }

type Signer = (input: string) => Buffer

const byKey =
  (key: KeyObject): Signer =>
  (input) =>
    sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
const byOwn = byKey(own.privateKey)
const byStranger = byKey(stranger.privateKey)
const byText =
  (secret: string | Buffer): Signer =>
  (input) =>
    createHmac('sha256', secret).update(input).digest()
const byPss: Signer = (input) =>
  sign('sha256', Buffer.from(input), { key: rsa.privateKey, padding: 6, saltLength: 32 })

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** A token of a header and a payload, objects or text, signed by the issuer unless somebody else is named. */
function token(head: unknown, payload: unknown, signer: Signer = byOwn): string {
  const input = `${encode(head)}.${encode(payload)}`
  return `${input}.${signer(input).toString('base64url')}`
}

/** A token of the issuer with other claims; undefined takes one away. */
const claiming = (more: object): string => token(header, { ...claims, ...more })
/** A token of the issuer with another header. */
const headed = (more: object, signer: Signer = byOwn): string =>
  token({ ...header, ...more }, claims, signer)
/** A token whose payload is this text: what JSON.stringify would not write. */
const saying = (more: string): string =>
  token(header, `{"iss":"${issuer}","aud":"${audience}","sub":"ann",${more}}`)

const good = token(header, claims)
const [head = '', payload = '', signature = ''] = good.split('.')
const unsigned = (alg: string): string => `${encode({ alg })}.${payload}.`
const strangersJwk = stranger.publicKey.export({ format: 'jwk' })
const publicPem = own.publicKey.export({ format: 'pem', type: 'spki' })

/** The last character's lowest bits are no part of the signature: this one has the same bytes in another spelling. */
function respelled(): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = letters.indexOf(good.at(-1) ?? '')
  return good.slice(0, -1) + letters.charAt(last ^ 1)
}

/** Tokens that name their caller, and the caller. */
export const honest: Readonly<Record<string, string>> = {
  plain: good,
  'with the type JWT': headed({ typ: 'JWT' }),
  'with the type at+jwt': headed({ typ: 'at+jwt' }),
  'with a list of audiences': claiming({ aud: ['other', audience] }),
  'that ended within the tolerance': claiming({ exp: now - 10 }),
  'that begins within the tolerance': claiming({ nbf: now + 10 }),
  'with an end that is no whole number': claiming({ exp: now + 60.5 }),
}

/** Tokens that are to be refused. */
export const hostile: Readonly<Record<string, string>> = {
  'alg none': unsigned('none'),
  'alg None': unsigned('None'),
  'alg nOnE': unsigned('nOnE'),
  'alg none with a signature': `${encode({ alg: 'none' })}.${payload}.${signature}`,
  'no alg': token({ kid: 'own' }, claims),
  'alg as a number': headed({ alg: 256 }),
  'alg as a list': headed({ alg: ['ES256'] }),
  'alg in lower case': headed({ alg: 'es256' }),
  'HS256 with the public key': headed({ alg: 'HS256' }, byText(publicPem.toString())),
  'HS256 with the public key as JWK': headed(
    { alg: 'HS256' },
    byText(JSON.stringify(jwks.keys[0])),
  ),
  'HS256 with an empty secret': headed({ alg: 'HS256' }, byText('')),
  'PS256, which is not allowed': headed({ alg: 'PS256', kid: 'rsa' }, byPss),
  'RS256 with a signature of PS256': headed({ alg: 'RS256', kid: 'rsa' }, byPss),
  'ES384 on a key of ES256': headed({ alg: 'ES384' }),
  "a stranger's key": headed({}, byStranger),
  "a stranger's key under an unknown kid": headed({ kid: 'none' }, byStranger),
  'the kid of another key': headed({ kid: 'rsa' }),
  'an unknown kid': headed({ kid: 'none' }),
  'a kid that is a path': headed({ kid: '../../dev/null' }, byText('')),
  'a jku of the stranger': headed({ jku: 'https://evil.example/jwks' }, byStranger),
  'an x5u of the stranger': headed({ x5u: 'https://evil.example/cert' }, byStranger),
  'a jwk in the header': headed({ jwk: strangersJwk, kid: undefined }, byStranger),
  'an x5c in the header': headed({ x5c: [encode('cert')] }, byStranger),
  'crit of an unknown extension': headed({ crit: ['exp'], exp: now }),
  'crit that is empty': headed({ crit: [] }),
  'b64 false in crit': headed({ crit: ['b64'], b64: false }),
  'b64 false without crit': headed({ b64: false }),
  'the type of another use': headed({ typ: 'logout+jwt' }),
  'a type that is no text': headed({ typ: 1 }),
  expired: claiming({ exp: now - 31 }),
  'not yet valid': claiming({ nbf: now + 60 }),
  'nbf as text': claiming({ nbf: 'soon' }),
  'no exp': claiming({ exp: undefined }),
  'exp null': claiming({ exp: null }),
  'exp as text': claiming({ exp: String(now + 60) }),
  'exp NaN': saying('"exp":NaN'),
  'exp without end': saying('"exp":1e999'),
  'exp in milliseconds': claiming({ exp: (now + 60) * 1000 }),
  'exp below zero': claiming({ exp: -1 }),
  'exp twice, the last in the past': saying(`"exp":${now + 60},"exp":${now - 60}`),
  'no aud': claiming({ aud: undefined }),
  'another aud': claiming({ aud: 'other' }),
  'an aud that contains ours': claiming({ aud: `${audience}-admin` }),
  'an aud that is part of ours': claiming({ aud: audience.slice(0, -1) }),
  'an aud of several in one text': claiming({ aud: `other ${audience}` }),
  'an empty list of aud': claiming({ aud: [] }),
  'a list of aud in a list': claiming({ aud: [[audience]] }),
  'aud twice, the last another': saying(`"exp":${now + 60},"aud":"other"`),
  'no iss': claiming({ iss: undefined }),
  'an iss that begins with ours': claiming({ iss: `${issuer}.evil.example` }),
  'an iss with a slash at its end': claiming({ iss: `${issuer}/` }),
  'an iss in upper case': claiming({ iss: issuer.toUpperCase() }),
  'a list of iss': claiming({ iss: [issuer, 'https://evil.example'] }),
  'no sub': claiming({ sub: undefined }),
  'an empty sub': claiming({ sub: '' }),
  'sub as a number': claiming({ sub: 1 }),
  'sub as an object': claiming({ sub: { toString: 'ann' } }),
  'sub as a list': claiming({ sub: ['ann'] }),
  'sub with NUL': claiming({ sub: 'ann\u0000admin' }),
  'sub with a line break': claiming({ sub: 'ann\nadmin' }),
  'sub that runs backwards': claiming({ sub: '\u202enna' }),
  'sub with half a character': saying(`"exp":${now + 60},"sub":"\\ud800"`),
  'sub of 300 characters': claiming({ sub: 'a'.repeat(300) }),
  'ES256 with r and s of 0': `${head}.${payload}.${Buffer.alloc(64).toString('base64url')}`,
  'a signature of one byte less': `${head}.${payload}.${signature.slice(0, -2)}`,
  'a signature in another spelling': respelled(),
  'no signature': `${head}.${payload}.`,
  'no signature, no dot': `${head}.${payload}`,
  truncated: good.slice(0, good.length / 2),
  'a changed payload': `${head}.${encode({ ...claims, sub: 'admin' })}.${signature}`,
  'a detached payload': `${head}..${signature}`,
  'a dot more': `${good}.`,
  'a dot before': `.${good}`,
  'five parts': `${good}.${encode('a')}.${encode('b')}`,
  padding: `${good}==`,
  'the alphabet of plain base64': good.replace(/\.[^.]*$/, '.+/+/'),
  'white space within': `${head}. ${payload}.${signature}`,
  'two tokens': `${good} ${good}`,
  'a comma': `${good},`,
  'a token in a token': token({ ...header, cty: 'JWT' }, good),
  'a payload that is a list': token(header, [claims]),
  'a payload that is null': token(header, 'null'),
  'a payload that is no JSON': token(header, 'ann'),
  'a header that is no JSON': token('ES256', claims),
  'larger than any': claiming({ more: 'a'.repeat(16_000) }),
  'a word': 'ann',
}
