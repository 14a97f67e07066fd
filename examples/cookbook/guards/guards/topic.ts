import type { GuardContent, GuardVerdict } from 'corral/agents'

/** Lets questions about money pass, and nothing else. */
export default function topic({ text }: GuardContent): GuardVerdict {
  if (/\b(?:money|fund|shares?|save)\b/i.test(text)) return { verdict: 'allow' }
  return { verdict: 'block', reason: 'only questions about money are answered here' }
}
