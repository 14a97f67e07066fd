import { Registry } from '../shared/registry.ts'

/** The bytes of bodies that are being read, all together and by who sends them. */
export interface BodyBudget {
  /** Takes room for so many bytes; false where there is none left, in all or in the sender's share. */
  take(sender: string, bytes: number): boolean
  /** Gives back room that was taken. */
  give(sender: string, bytes: number): void
}

/** Makes a budget of `max` bytes of which one sender has at most `share`. A sender without a name has no share. */
export function createBodyBudget(max: number, share: number): BodyBudget {
  const senders = new Registry<number>()
  let all = 0
  return {
    take(sender, bytes) {
      if (all + bytes > max) return false
      if (sender !== '') {
        const held = (senders.get(sender) ?? 0) + bytes
        if (held > share) return false
        senders.set(sender, held)
      }
      all += bytes
      return true
    },
    give(sender, bytes) {
      all -= bytes
      if (sender === '') return
      const left = (senders.get(sender) ?? 0) - bytes
      if (left > 0) senders.set(sender, left)
      else senders.delete(sender)
    },
  }
}
