import type { Fields } from '../../shared/json.ts'
import { PatternFault } from '../../shared/pattern/fault.ts'
import { compilePattern, type Pattern } from '../../shared/pattern/pattern.ts'
import type { ReadyGuard } from './ready.ts'
import { type RefuseSetting, readAction } from './settings.ts'

/** A text that must not stand in content, or must. */
export function patternGuard(settings: Fields, refuse: RefuseSetting): ReadyGuard {
  const { deny, require } = settings
  const action = readAction(settings, 'block', refuse)
  if ((deny === undefined) === (require === undefined))
    return refuse(undefined, 'needs deny or require, and not both')
  if (deny !== undefined) {
    const pattern = compile(deny, 'deny', refuse)
    const cleaner = { clean: (text: string) => pattern.replace(text, '[removed]') }
    const reason = 'there is something in it that is not allowed'
    return { kind: 'cleaner', name: 'pattern', cleaner, action, reason }
  }
  if (action === 'replace')
    refuse('action', 'replace needs deny: what is missing cannot be replaced')
  const pattern = compile(require, 'require', refuse)
  return {
    kind: 'form',
    name: 'pattern',
    judge: ({ text }) =>
      pattern.test(text)
        ? { verdict: 'allow' }
        : { verdict: 'block', reason: 'something is missing in it' },
  }
}

function compile(source: unknown, key: string, refuse: RefuseSetting): Pattern {
  if (typeof source !== 'string' || source === '') return refuse(key, 'must be a pattern')
  try {
    return compilePattern(source)
  } catch (error) {
    if (!(error instanceof PatternFault)) throw error
    const { message, position: offset } = error
    return refuse(key, `cannot be used: ${message} (at character ${offset + 1})`, { offset })
  }
}
