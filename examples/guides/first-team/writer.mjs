import { textOf } from 'corral'

/** Writes the story that was planned: what a generator yields reaches the caller at once. */
export default async function* write({ parts }) {
  yield 'Once upon a time. '
  for (const event of textOf(parts).split('; ')) yield `Then ${event}. `
  yield 'The end.'
}
