/** A story in three durable steps: one that is stored is not told again, whichever replica goes on. */
export const resumable = true

export default async function* story(message, turn) {
  const hero = message.parts.map((part) => part.text ?? '').join('') || 'a fox'
  yield turn.status('TASK_STATE_WORKING', 'writing')
  const lines = []
  for (const part of ['beginning', 'middle', 'end'])
    lines.push(await turn.step(part, async () => `The ${part} of ${hero}.`))
  yield lines.join('\n')
}
