import type { Agent } from '../agent.ts'
import type { Guards } from './guard.ts'
import { readGuards } from './read.ts'
import type { ReadyGuards } from './ready.ts'

/** The names of guards, for whoever looks at their agent; undefined where there are none. */
export function namesOf({ input, output }: ReadyGuards): Agent['guardNames'] {
  if (input.length + output.length === 0) return undefined
  const name = (guard: { readonly name: string }): string => guard.name
  return {
    ...(input.length > 0 && { input: input.map(name) }),
    ...(output.length > 0 && { output: output.map(name) }),
  }
}

/** The same of guards as they are written. @throws GuardFault */
export function writtenNames(guards: Guards | undefined): Agent['guardNames'] {
  return namesOf(readGuards(guards))
}
