import { textOf } from 'corral'

/** Plans a story: an agent is a function that gets a message and gives an answer. */
export default function plan({ parts }) {
  const subject = textOf(parts)
  return `${subject} wakes up; ${subject} gets lost; ${subject} comes home`
}
