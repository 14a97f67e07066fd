import { readFileSync } from 'node:fs'

/** One run of a team's member. */
export interface Effect {
  /** The task. */
  readonly id: string
  readonly member: string
  /** New at every run. */
  readonly nonce: string
}

/**
 * What the members of server.mjs wrote when they ran: a line `<task> <member> <nonce> .` each. A line without its full
 * stop was cut short by a kill; nothing of that run can have been stored.
 */
export function readEffects(path: string): readonly Effect[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter((words) => words.at(3) === '.')
    .map(([id = '', member = '', nonce = '']) => ({ id, member, nonce }))
}
