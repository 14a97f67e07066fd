import { readFileSync } from 'node:fs'

/** One run of a team's member. */
export interface Effect {
  /** The task. */
  readonly id: string
  readonly member: string
  /** New at every run. */
  readonly nonce: string
  /** What the member was asked. */
  readonly input: string
}

/**
 * What the members of agents.mjs wrote when they ran: a line `<task> <member> <nonce> <input> .` each. A line without
 * its full stop was cut short by a kill; nothing of that run can have been stored.
 */
export function readEffects(path: string): readonly Effect[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter((words) => words.at(4) === '.')
    .map(([id = '', member = '', nonce = '', input = '']) => ({
      id,
      member,
      nonce,
      input: decodeURIComponent(input),
    }))
}
