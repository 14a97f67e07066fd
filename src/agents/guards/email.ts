import { alphanumeric, characters, digit, isOneOf, type ScanSteps, type TextSpan } from './scan.ts'

const local = characters(['az', 'AZ', '09'], "._%+-'")
const domain = characters(['az', 'AZ', '09'], '.-')
const maxLocal = 64
const maxDomain = 255

/** Finds email addresses: a name, an at sign, and a host with a dot and letters behind it. */
export function findEmails(text: string, steps: ScanSteps): readonly TextSpan[] {
  const found: TextSpan[] = []
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    const start = localStart(text, at, steps)
    const end = domainEnd(text, at + 1, steps)
    if (start < at && isHost(text.slice(at + 1, end)) && !isElsewhere(text, { start, end }))
      found.push({ start, end })
  }
  return found
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
function isElsewhere(text: string, { start, end }: TextSpan): boolean {
  if (text.slice(start, end).startsWith('git@') && text[end] === ':') return true
  const before = text.slice(Math.max(0, start - maxDomain), start)
  const scheme = before.lastIndexOf('://')
  return scheme >= 0 && !/[\s/?#]/.test(before.slice(scheme + '://'.length))
}
