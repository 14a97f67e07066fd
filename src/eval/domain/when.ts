import { PatternFault } from '../../shared/pattern/fault.ts'
import { compilePattern } from '../../shared/pattern/pattern.ts'

/** How much work a scripted user puts into hearing one thing: about a second. Of what is longer, it hears the beginning. */
const maxWork = 100_000_000

/**
 * Reads the `when` of a scripted reply: what tells whether it is found in a text, in either case of its letters. The
 * text is the agent's, who may be hostile, so its time grows with the text's length only.
 * @throws PatternFault
 */
export function compileWhen(when: string): (said: string) => boolean {
  const pattern = compilePattern(when, { ignoreCase: true })
  const heard = Math.floor(maxWork / pattern.size)
  return (said) => pattern.test(said.slice(0, heard))
}

/** Why a `when` cannot be used, and where in it; undefined where it can. */
export function whenFault(when: string): string | undefined {
  try {
    compileWhen(when)
    return undefined
  } catch (error) {
    if (!(error instanceof PatternFault)) throw error
    return `is no pattern that can be used: ${error.message} (at character ${error.position + 1})`
  }
}
