import {
  alphanumeric,
  type CodeSet,
  characters,
  hex,
  isMixed,
  isOneOf,
  runEnd,
  type ScanSteps,
  type TextSpan,
  token,
  upperOrDigit,
  url64,
  wordy,
} from './scan.ts'

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

/** Finds keys and tokens that tell by how they begin whose they are. */
export function findKeys(text: string, steps: ScanSteps): readonly TextSpan[] {
  return rules.flatMap((rule) => [...matchesOf(rule, text, steps)])
}

function* matchesOf(rule: KeyRule, text: string, steps: ScanSteps): Iterable<TextSpan> {
  const { prefix, set, min, exact, row = 0 } = rule
  let start = text.indexOf(prefix)
  while (start >= 0) {
    const body = start + prefix.length
    const isApart = !isOneOf(wordy, text, start - 1)
    const end = isApart ? runEnd(set, text, { at: body, steps }) : body
    const count = end - body
    const fits = exact ? count === min : count >= min
    if (fits && isMixed(text, { start: body, end }) && longestRow(text, body, end) >= row)
      yield { start, end }
    start = text.indexOf(prefix, Math.max(end, body))
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
