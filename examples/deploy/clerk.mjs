import { textOf } from 'corral'

export const resumable = true

export default async (message, turn) => {
  const noted = await turn.step('note', () => textOf(message.parts))
  return `Noted: ${noted}`
}
