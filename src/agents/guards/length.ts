import type { Part } from '../../protocol/types.ts'
import type { Fields } from '../../shared/json.ts'
import type { GuardContent, GuardVerdict } from './guard.ts'
import type { ReadyGuard } from './ready.ts'
import { type RefuseSetting, readAction } from './settings.ts'

/** Content of so many characters, its data as JSON among them; files do not count. */
export function lengthGuard(settings: Fields, refuse: RefuseSetting): ReadyGuard {
  const { max, min } = settings
  const action = readAction(settings, 'block', refuse)
  const most = readCount(max, 'max', refuse) ?? Number.POSITIVE_INFINITY
  const least = readCount(min, 'min', refuse) ?? 0
  if (max === undefined && min === undefined) refuse(undefined, 'needs max or min')
  if (least > most) refuse('min', 'must not be more than max')
  if (action === 'replace' && max === undefined)
    refuse('action', 'replace needs max: what is too short cannot be cut')
  const limits = { most, least, cuts: action === 'replace' }
  return { kind: 'form', name: 'length', judge: (content) => judge(content, limits) }
}

function readCount(value: unknown, key: string, refuse: RefuseSetting): number | undefined {
  if (value === undefined) return undefined
  const count = Number(value)
  // Files may write numbers as texts.
  const isNumber = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
  if (!isNumber || !Number.isSafeInteger(count) || count < 0)
    return refuse(key, 'must be a whole number of characters')
  return count
}

interface Limits {
  readonly most: number
  readonly least: number
  readonly cuts: boolean
}

function judge({ parts }: GuardContent, { most, least, cuts }: Limits): GuardVerdict {
  let [words, rest] = [0, 0]
  for (const part of parts)
    if ('text' in part) words += lengthOf(part.text)
    else if ('data' in part) rest += lengthOf(JSON.stringify(part.data))
  const length = words + rest
  if (length < least)
    return {
      verdict: 'block',
      reason: `it has ${length} characters; at least ${least} are asked for`,
    }
  if (length <= most) return { verdict: 'allow' }
  if (!cuts || rest > most)
    return { verdict: 'block', reason: `it has ${length} characters; at most ${most} are allowed` }
  return {
    verdict: 'replace',
    parts: cut(parts, most - rest),
    reason: `cut from ${length} to ${most} characters`,
  }
}

/** Characters as people count them, nearly: a letter beyond the first plane is one. */
function lengthOf(text: string): number {
  let length = text.length
  for (let at = 0; at < text.length - 1; at++) if (isPair(text, at)) length--
  return length
}

function isPair(text: string, at: number): boolean {
  return (text.codePointAt(at) ?? 0) > 0xffff
}

function cut(parts: readonly Part[], most: number): readonly Part[] {
  let left = most
  return parts.map((part) => {
    if (!('text' in part)) return part
    let end = 0
    for (; end < part.text.length && left > 0; left--) end += isPair(part.text, end) ? 2 : 1
    return end === part.text.length ? part : { ...part, text: part.text.slice(0, end) }
  })
}
