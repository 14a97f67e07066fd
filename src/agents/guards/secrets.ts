import { findKeys } from './key-rules.ts'
import {
  characters,
  digit,
  isMixed,
  isOneOf,
  runEnd,
  type ScanSteps,
  type TextSpan,
  token,
  url64,
} from './scan.ts'

/**
 * Finds what opens doors: API keys, tokens, private keys, JSON Web Tokens, passwords in URLs and connection strings, and
 * what stands behind a name such as `api_key=`. It goes by form, not by chance: a hash, a UUID or a picture is none.
 */
export function findSecrets(text: string, steps: ScanSteps): readonly TextSpan[] {
  return [
    ...findKeys(text, steps),
    ...findWebTokens(text, steps),
    ...findPrivateKeys(text, steps),
    ...findPasswordsOfUrls(text, steps),
    ...findAssigned(text, steps),
    ...findBotTokens(text, steps),
  ]
}

/** `eyJ….eyJ….…`: header and payload are JSON objects in base64. */
function* findWebTokens(text: string, steps: ScanSteps): Iterable<TextSpan> {
  let start = text.indexOf('eyJ')
  while (start >= 0) {
    const header = isOneOf(url64, text, start - 1)
      ? start
      : runEnd(url64, text, { at: start, steps })
    let end = header
    if (text.startsWith('.eyJ', header)) {
      const payload = runEnd(url64, text, { at: header + 1, steps })
      const signature = text[payload] === '.' ? payload + 1 : payload
      end = runEnd(url64, text, { at: signature, steps })
      if (signature > payload && header - start >= 10 && end - signature >= 10) yield { start, end }
    }
    start = text.indexOf('eyJ', Math.max(end, start + 3))
  }
}

/** A block of PEM, or what there is of one that has no end. */
function* findPrivateKeys(text: string, steps: ScanSteps): Iterable<TextSpan> {
  const named = characters(['AZ', '09'], ' ')
  let start = text.indexOf('-----BEGIN ')
  while (start >= 0) {
    const name = start + '-----BEGIN '.length
    const begin = runEnd(named, text, { at: name, steps, most: 60 })
    let end = begin
    if (text.slice(name, begin).includes('PRIVATE KEY')) {
      const close = text.indexOf('-----END ', begin)
      const closed = close < 0 ? close : text.indexOf('-----', close + '-----END '.length)
      end = closed < 0 ? text.length : closed + '-----'.length
      yield { start, end }
    }
    start = text.indexOf('-----BEGIN ', end)
  }
}

const credential = characters(['az', 'AZ', '09'], "_-.~!*'();:&=+$,%^|")
/** Longer ones are none. */
const maxCredential = 512

/** `scheme://user:password@host`: the password alone. One that a template fills in is none. */
function* findPasswordsOfUrls(text: string, steps: ScanSteps): Iterable<TextSpan> {
  let slashes = text.indexOf('://')
  while (slashes >= 0) {
    const at = slashes + 3
    const end = runEnd(credential, text, { at, steps, most: maxCredential })
    const colon = text.slice(at, end).indexOf(':')
    const start = at + colon + 1
    const isFilledIn = text[start] === '$'
    if (text[end] === '@' && colon >= 0 && start < end && !isFilledIn) yield { start, end }
    slashes = text.indexOf('://', at)
  }
}

/** Names behind which a secret stands, in lower case and without what separates their words. */
const keyNames: readonly string[] = [
  ...['apikey', 'secretkey', 'secretaccesskey', 'accountkey', 'sharedaccesskey', 'privatekey'],
  ...['clientsecret', 'accesstoken', 'refreshtoken', 'authtoken', 'bearertoken', 'sessiontoken'],
  ...['authorization', 'encryptionkey', 'signingkey'],
]
const passwordNames: readonly string[] = ['password', 'passwd', 'pwd', 'passphrase']

const nameSet = characters(['az', 'AZ', '09'], '_-')
const passwordSet = characters(['az', 'AZ', '09'], '_-+/=.~!@#$%^&*?')

/** `name=value`, `name: value`, `"name": "value"`, also `name: Bearer value`. */
function* findAssigned(text: string, steps: ScanSteps): Iterable<TextSpan> {
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== '=' && text[at] !== ':') continue
    const name = nameBefore(text, at, steps)
    const isPassword = passwordNames.some((known) => name.endsWith(known))
    if (!isPassword && !keyNames.some((known) => name.endsWith(known))) continue
    const start = valueStart(text, at + 1)
    const end = runEnd(isPassword ? passwordSet : token, text, { at: start, steps })
    const isLong = end - start >= (isPassword ? 6 : 16)
    if (isLong && text[start] !== '$' && isMixed(text, { start, end })) yield { start, end }
    at = Math.max(at, end - 1)
  }
}

/** Longer than any of the names. */
const maxName = 40

function nameBefore(text: string, sign: number, steps: ScanSteps): string {
  let end = sign
  while (
    sign - end < 3 &&
    (text[end - 1] === ' ' || text[end - 1] === '"' || text[end - 1] === "'")
  )
    end--
  let start = end
  while (end - start < maxName && isOneOf(nameSet, text, start - 1)) start--
  steps.spend(sign - start + 1)
  return text.slice(start, end).toLowerCase().replaceAll('_', '').replaceAll('-', '')
}

function valueStart(text: string, from: number): number {
  let at = from
  while (at - from < 3 && (text[at] === ' ' || text[at] === '"' || text[at] === "'")) at++
  const scheme = text.slice(at, at + 7).toLowerCase()
  if (scheme.startsWith('bearer ')) return at + 7
  return scheme.startsWith('basic ') ? at + 6 : at
}

/** Telegram's `12345678:AA…`, and what follows `Bearer` without a name before it. */
function* findBotTokens(text: string, steps: ScanSteps): Iterable<TextSpan> {
  for (let at = text.indexOf(':AA'); at >= 0; at = text.indexOf(':AA', at + 3)) {
    const end = runEnd(url64, text, { at: at + 1, steps })
    let start = at
    while (at - start < 12 && isOneOf(digit, text, start - 1)) start--
    if (at - start >= 8 && end - at - 1 >= 33) yield { start, end }
  }
  for (const word of ['Bearer ', 'bearer '])
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      const start = at + word.length
      const end = runEnd(token, text, { at: start, steps })
      if (end - start >= 20 && isMixed(text, { start, end })) yield { start, end }
    }
}
