/** Finds spans in a text that is scanned part by part; a span may end beyond its part. */
export interface TextScan {
  readonly found: readonly TextSpan[]
  /** What it has looked at so far. */
  readonly steps: ScanSteps
  /** Finds spans that begin at `from` or later, and before `to`. */
  look(from: number, to: number): void
}

/**
 * Finds what opens doors: API keys, tokens, private keys, JSON Web Tokens, passwords in URLs and connection strings, and
 * what stands behind a name such as `api_key=`. It goes by form, not by chance: a hash, a UUID or a picture is none.
 *
 * The text is read once, whatever there is to look for: two characters say which searches can begin at a place.
 */
export class SecretScan implements TextScan {
  readonly found: TextSpan[] = []
  readonly steps: ScanSteps
  readonly #text: string
  #state: SearchState | undefined

  constructor(text: string) {
    this.steps = new ScanSteps(text)
    this.#text = text
  }

  look(from: number, to: number): void {
    const text = this.#text
    let code = text.charCodeAt(from)
    for (let at = from; at < to; at++) {
      const next = text.charCodeAt(at + 1)
      const pair = (code << 7) | (next < 128 ? next : 0)
      if (code < 128 && isPair[pair] === 1) this.#search(at, pair)
      code = next
    }
  }

  #search(at: number, pair: number): void {
    const text = this.#text
    const third = text.charCodeAt(at + 2)
    for (const search of searchesAt[pair] ?? []) {
      if (search.third !== undefined && search.third !== third) continue
      if (search.prefix.length > 3 && !text.startsWith(search.prefix, at)) continue
      this.#state ??= {
        steps: this.steps,
        found: this.found,
        next: new Int32Array(searchCount),
      }
      const { next } = this.#state
      if (at >= (next[search.number] ?? 0)) next[search.number] = search.look(text, at, this.#state)
    }
  }
}

/** What a search counts and finds. */
interface SearchState {
  readonly steps: ScanSteps
  readonly found: TextSpan[]
  /** For each search, the place from which it continues. */
  readonly next: Int32Array
}

/** A search for one kind of secret, which begins where its prefix stands. Gives the place from which it goes on. */
type SecretLook = (text: string, at: number, state: SearchState) => number

/** A kind of key that is known by how it begins. */
interface KeyRule {
  readonly prefix: string
  readonly set: CodeSet
  /** How many characters of the set follow at least. */
  readonly min: number
  /** No more than `min` follow. */
  readonly exact?: boolean
  /** How many letters and digits in a row there are at least; names have dashes every few letters. */
  readonly row?: number
}

const slashed = characters(['az', 'AZ', '09'], '/_-')

const url64: CodeSet = characters(['az', 'AZ', '09'], '_-')

const alphanumeric: CodeSet = characters(['az', 'AZ', '09'])

/** What tokens of all sorts are written in. */
const token: CodeSet = characters(['az', 'AZ', '09'], '_-+/=.~')

const wordy: CodeSet = characters(['az', 'AZ', '09'], '_')

const upperOrDigit: CodeSet = characters(['AZ', '09'])

const hex: CodeSet = characters(['09', 'af', 'AF'])

/** What services call their keys and tokens. A further service is a further row. */
const rules: readonly KeyRule[] = [
  { prefix: 'sk-', set: url64, min: 20, row: 12 }, // OpenAI, Anthropic and many that follow them
  ...['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'].map((prefix) => key(prefix, 16)), // Stripe
  { prefix: 'whsec_', set: token, min: 24 },
  ...['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'].map((prefix) => key(prefix, 30)), // GitHub
  { prefix: 'github_pat_', set: wordy, min: 40 },
  { prefix: 'glpat-', set: url64, min: 20 },
  ...['AKIA', 'ASIA'].map((prefix) => ({ prefix, set: upperOrDigit, min: 16, exact: true })), // AWS
  { prefix: 'AIza', set: url64, min: 35 },
  { prefix: 'ya29.', set: url64, min: 20 },
  { prefix: 'GOCSPX-', set: url64, min: 20 },
  ...['xoxb-', 'xoxp-', 'xoxa-', 'xoxr-', 'xoxs-', 'xapp-'].map((prefix) => ({
    ...{ prefix, set: url64, min: 20 }, // Slack
  })),
  { prefix: 'hooks.slack.com/services/', set: slashed, min: 20 },
  { prefix: 'discord.com/api/webhooks/', set: slashed, min: 30 },
  { prefix: 'npm_', set: alphanumeric, min: 36, exact: true },
  { prefix: 'pypi-', set: url64, min: 40, row: 12 },
  key('hf_', 30), // Hugging Face
  key('gsk_', 40), // Groq
  { prefix: 'xai-', set: alphanumeric, min: 40 },
  { prefix: 'SG.', set: characters(['az', 'AZ', '09'], '_-.'), min: 50 }, // SendGrid
  { prefix: 'key-', set: hex, min: 32, exact: true }, // Mailgun
  { prefix: 'dop_v1_', set: hex, min: 64 }, // DigitalOcean
  { prefix: 'shpat_', set: hex, min: 32 }, // Shopify
  { prefix: 'dckr_pat_', set: url64, min: 20 },
  { prefix: 'lin_api_', set: alphanumeric, min: 30 },
  { prefix: 'glsa_', set: wordy, min: 32 }, // Grafana
  { prefix: 'AGE-SECRET-KEY-1', set: upperOrDigit, min: 50 },
]

function key(prefix: string, min: number): KeyRule {
  return { prefix, set: alphanumeric, min }
}

/** All searches by the prefixes at which they begin; signs share one, since a value may hold further signs. */
const looks: readonly (readonly [prefixes: readonly string[], look: SecretLook])[] = [
  ...rules.map((rule) => [[rule.prefix], lookForKey(rule)] as const),
  [['eyJ'], lookForWebToken],
  [['-----BEGIN '], lookForPrivateKey],
  [['://'], lookForPasswordOfUrl],
  [['=', ':'], lookForAssigned],
  [[':AA'], lookForBotToken],
  [['Bearer '], lookForBearer],
  [['bearer '], lookForBearer],
]

const searchCount = looks.length

interface SecretSearch {
  readonly number: number
  readonly prefix: string
  /** The third character of the prefix, where it is that long: it tells most words of prose from a prefix. */
  readonly third: number | undefined
  readonly look: SecretLook
}

/** The searches that may begin where two characters stand, by 128 × the first + the second. */
const searchesAt: readonly (readonly SecretSearch[] | undefined)[] = toSearches()

/** Whether a pair has searches, in a form that is faster to read. */
const isPair: CodeSet = Uint8Array.from(searchesAt, (searches) => (searches ? 1 : 0))

function toSearches(): readonly (readonly SecretSearch[] | undefined)[] {
  const table = Array.from({ length: 128 * 128 }, (): SecretSearch[] | undefined => undefined)
  for (const [number, [prefixes, look]] of looks.entries())
    for (const prefix of prefixes) {
      const row = prefix.charCodeAt(0) * 128
      const third = prefix.length > 2 ? prefix.charCodeAt(2) : undefined
      for (let second = 0; second < 128; second++)
        if (prefix.length === 1 || prefix.charCodeAt(1) === second)
          table[row + second] = [...(table[row + second] ?? []), { number, prefix, third, look }]
    }
  return table
}

function lookForKey({ prefix, set, min, exact, row = 0 }: KeyRule): SecretLook {
  return (text, start, { steps, found }) => {
    const body = start + prefix.length
    if (isOneOf(wordy, text, start - 1)) return body
    const end = runEnd(set, text, { at: body, steps })
    const count = end - body
    const fits = exact ? count === min : count >= min
    if (fits && isMixed(text, { start: body, end }) && longestRow(text, body, end) >= row)
      found.push({ start, end })
    return end
  }
}

function longestRow(text: string, start: number, end: number): number {
  let [longest, row] = [0, 0]
  for (let at = start; at < end; at++) {
    row = isOneOf(alphanumeric, text, at) ? row + 1 : 0
    if (row > longest) longest = row
  }
  return longest
}

/** `eyJ….eyJ….…`: header and payload are JSON objects in base64. */
function lookForWebToken(text: string, start: number, { steps, found }: SearchState): number {
  const header = isOneOf(url64, text, start - 1) ? start : runEnd(url64, text, { at: start, steps })
  if (!text.startsWith('.eyJ', header)) return Math.max(header, start + 3)
  const payload = runEnd(url64, text, { at: header + 1, steps })
  const signature = text[payload] === '.' ? payload + 1 : payload
  const end = runEnd(url64, text, { at: signature, steps })
  if (signature > payload && header - start >= 10 && end - signature >= 10)
    found.push({ start, end })
  return Math.max(end, start + 3)
}

const pemName = characters(['AZ', '09'], ' ')

/** A block of PEM, or what there is of one that has no end. */
function lookForPrivateKey(text: string, start: number, { steps, found }: SearchState): number {
  const name = start + '-----BEGIN '.length
  const begin = runEnd(pemName, text, { at: name, steps, most: 60 })
  if (!text.slice(name, begin).includes('PRIVATE KEY')) return begin
  const close = text.indexOf('-----END ', begin)
  const closed = close < 0 ? close : text.indexOf('-----', close + '-----END '.length)
  const end = closed < 0 ? text.length : closed + '-----'.length
  found.push({ start, end })
  return end
}

const credential = characters(['az', 'AZ', '09'], "_-.~!*'();:&=+$,%^|")

/** A longer run of characters is not `user:password`. */
const maxCredential = 512

/** `scheme://user:password@host`: only the password is a secret, and a placeholder of a template is not. */
function lookForPasswordOfUrl(text: string, slashes: number, state: SearchState): number {
  const { steps, found } = state
  const at = slashes + 3
  const end = runEnd(credential, text, { at, steps, most: maxCredential })
  if (text[end] !== '@') return at
  const colon = text.slice(at, end).indexOf(':')
  const start = at + colon + 1
  const isFilledIn = text[start] === '$'
  if (colon >= 0 && start < end && !isFilledIn) found.push({ start, end })
  return at
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

/** The last two letters of the names, by 128 × the last but one + the last. Few signs follow such letters. */
const nameEnds: CodeSet = toNameEnds()

function toNameEnds(): CodeSet {
  const ends = new Uint8Array(128 * 128)
  for (const name of [...keyNames, ...passwordNames])
    for (const last of bothCases(name.at(-1)))
      for (const before of bothCases(name.at(-2))) ends[(before << 7) | last] = 1
  return ends
}

function bothCases(letter = ''): readonly number[] {
  return [letter.charCodeAt(0), letter.toUpperCase().charCodeAt(0)]
}

/** `name=value`, `name: value`, `"name": "value"`, also `name: Bearer value`. */
function lookForAssigned(text: string, at: number, { steps, found }: SearchState): number {
  const name = nameBefore(text, at, steps)
  if (name === '') return at + 1
  const isPassword = passwordNames.some((known) => name.endsWith(known))
  if (!isPassword && !keyNames.some((known) => name.endsWith(known))) return at + 1
  const start = valueStart(text, at + 1)
  const end = runEnd(isPassword ? passwordSet : token, text, { at: start, steps })
  const isLong = end - start >= (isPassword ? 6 : 16)
  if (isLong && text[start] !== '$' && isMixed(text, { start, end })) found.push({ start, end })
  return Math.max(at + 1, end)
}

/** Longer than any of the names. */
const maxName = 40

const mark = characters([], ' "\'')

const separator = characters([], '_-')

function nameBefore(text: string, sign: number, steps: ScanSteps): string {
  let end = sign
  while (sign - end < 3 && isOneOf(mark, text, end - 1)) end--
  const first = end - maxName
  const last = letterBefore(text, end, first)
  const before = letterBefore(text, last, first)
  steps.spend(sign - before + 1)
  if (before < 0 || before < first) return ''
  if (nameEnds[(text.charCodeAt(before) << 7) | text.charCodeAt(last)] !== 1) return ''
  let start = before
  while (start > first && isOneOf(nameSet, text, start - 1)) start--
  steps.spend(sign - start + 1)
  return text.slice(start, end).toLowerCase().replaceAll('_', '').replaceAll('-', '')
}

/** The place of the last character before `from` that is not a separator; looks back no further than `first`. */
function letterBefore(text: string, from: number, first: number): number {
  let at = from - 1
  while (at >= first && isOneOf(separator, text, at)) at--
  return at
}

function valueStart(text: string, from: number): number {
  let at = from
  while (at - from < 3 && (text[at] === ' ' || text[at] === '"' || text[at] === "'")) at++
  const scheme = text.slice(at, at + 7).toLowerCase()
  if (scheme.startsWith('bearer ')) return at + 7
  return scheme.startsWith('basic ') ? at + 6 : at
}

/** Telegram's `12345678:AA…`. */
function lookForBotToken(text: string, at: number, { steps, found }: SearchState): number {
  const end = runEnd(url64, text, { at: at + 1, steps })
  let start = at
  while (at - start < 12 && isOneOf(digit, text, start - 1)) start--
  if (at - start >= 8 && end - at - 1 >= 33) found.push({ start, end })
  return at + 3
}

/** What follows `Bearer` without a name before it. */
function lookForBearer(text: string, at: number, { steps, found }: SearchState): number {
  const start = at + 'Bearer '.length
  const end = runEnd(token, text, { at: start, steps })
  if (end - start >= 20 && isMixed(text, { start, end })) found.push({ start, end })
  return start
}

const local = characters(['az', 'AZ', '09'], "._%+-'")

const domain = characters(['az', 'AZ', '09'], '.-')

const maxLocal = 64

const maxDomain = 255

/** Finds email addresses: a name, an at sign, and a host with a dot and letters behind it. */
export class EmailScan implements TextScan {
  readonly found: TextSpan[] = []
  readonly steps: ScanSteps
  readonly #text: string
  /** The first at sign that has not been looked at; -1 at the end. */
  #at: number

  constructor(text: string) {
    this.steps = new ScanSteps(text)
    this.#text = text
    this.#at = text.indexOf('@')
  }

  look(_from: number, to: number): void {
    const text = this.#text
    for (; this.#at >= 0 && this.#at < to; this.#at = text.indexOf('@', this.#at + 1)) {
      const at = this.#at
      const start = localStart(text, at, this.steps)
      if (start === at) continue
      const end = domainEnd(text, at + 1, this.steps)
      // The shortest host is `b.co`.
      if (end - at > 4 && isHost(text.slice(at + 1, end)) && !isUserOf(text, { start, end }))
        this.found.push({ start, end })
    }
  }
}

function localStart(text: string, at: number, steps: ScanSteps): number {
  let start = at
  while (at - start < maxLocal && isLetterOf(local, text, start - 1)) start--
  // A full stop or quote before it is a sentence's.
  while (start < at && !isLetterOf(alphanumeric, text, start)) start++
  steps.spend(at - start + 1)
  return start
}

function domainEnd(text: string, from: number, steps: ScanSteps): number {
  let end = from
  while (end - from < maxDomain && isLetterOf(domain, text, end)) end++
  steps.spend(end - from + 1)
  while (end > from && !isLetterOf(alphanumeric, text, end - 1)) end--
  return end
}

/** Names may be in any script. */
function isLetterOf(set: Uint8Array, text: string, at: number): boolean {
  return isOneOf(set, text, at) || text.charCodeAt(at) >= 0xc0
}

function isHost(host: string): boolean {
  const labels = host.split('.')
  const last = labels.at(-1) ?? ''
  if (labels.length < 2 || labels.includes('') || last.length < 2) return false
  for (let at = 0; at < last.length; at++) if (isOneOf(digit, last, at)) return false
  // `icon@2x.png` is the name of a picture.
  return !/^\d{1,2}x\.(?:png|jpe?g|gif|webp|svg|avif)$/i.test(host)
}

/** In a URL it is a user of a host, in `git@host:path` one of a program. */
function isUserOf(text: string, { start, end }: TextSpan): boolean {
  if (text.slice(start, end).startsWith('git@') && text[end] === ':') return true
  const before = text.slice(Math.max(0, start - maxDomain), start)
  const scheme = before.lastIndexOf('://')
  return scheme >= 0 && !/[\s/?#]/.test(before.slice(scheme + '://'.length))
}

/** A piece of a text, its end exclusive. */
interface TextSpan {
  readonly start: number
  readonly end: number
}

/** How many characters a search may look at for each one there is; none of ours comes near. */
const perCharacter = 64

/** Counts what a search looks at, so that no text of any sender can make it take long. */
class ScanSteps {
  readonly #most: number
  used = 0

  constructor(text: string) {
    this.#most = perCharacter * (text.length + perCharacter)
  }

  /** @throws Error when it was too much. */
  spend(count: number): void {
    this.used += count
    if (this.used > this.#most) throw new Error('a text takes too long to search')
  }
}

/** Characters, for a look-up by code. */
type CodeSet = Uint8Array

/** The characters of ranges such as `AZ`, and single ones. */
function characters(ranges: readonly string[], singles = ''): CodeSet {
  const set = new Uint8Array(128)
  for (const range of ranges) set.fill(1, range.charCodeAt(0), range.charCodeAt(1) + 1)
  for (const single of singles) set[single.charCodeAt(0)] = 1
  return set
}

const digit: CodeSet = characters(['09'])

/** Whether the character at a place is one of a set; there is none before the beginning and after the end. */
function isOneOf(set: CodeSet, text: string, at: number): boolean {
  return set[text.charCodeAt(at)] === 1
}

/** Where the characters of a set end that begin at a place, at most `most` of them. */
function runEnd(
  set: CodeSet,
  text: string,
  from: { readonly at: number; readonly steps: ScanSteps; readonly most?: number },
): number {
  const { at, steps, most = Number.POSITIVE_INFINITY } = from
  let end = at
  while (end - at < most && isOneOf(set, text, end)) end++
  steps.spend(end - at + 1)
  return end
}

/** Whether a piece has both a letter and a digit, as what a machine makes up has and most words have not. */
function isMixed(text: string, { start, end }: TextSpan): boolean {
  let hasDigit = false
  let hasLetter = false
  for (let at = start; at < end && !(hasDigit && hasLetter); at++)
    if (isOneOf(digit, text, at)) hasDigit = true
    else if (isOneOf(alphanumeric, text, at)) hasLetter = true
  return hasDigit && hasLetter
}

/** The text with other words in place of the pieces; the same text where there are none. */
export function replaceSpans(text: string, spans: readonly TextSpan[], by: string): string {
  if (spans.length === 0) return text
  let [result, from] = ['', 0]
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (start >= from) result += text.slice(from, start) + by
    from = Math.max(from, end)
  }
  return result + text.slice(from)
}

/**
 * The first `length` characters of a text without the secrets in them, for logs. What is left is cut where it was cut in the
 * text: a secret that goes on behind that place is found whole, and none that begins behind it moves up.
 */
export function withoutSecrets(text: string, length: number): string {
  const scan = new SecretScan(text.slice(0, length + maxSecret))
  scan.look(0, Math.min(length, text.length))
  return replaceSpans(text.slice(0, length), scan.found, '[redacted]')
}

/** So much of a secret is looked at behind the place where a text is cut. */
const maxSecret = 4_096
