import { Registry } from '../shared/registry.ts'

/**
 * The bytes of large replies that their readers have not taken yet, all together and by client. What is alone always
 * passes: a reply may be larger than a share.
 */
export interface UnreadBytes {
  /** Takes room for so many bytes; false where there is none left, in all or in the client's share. */
  take(client: string, bytes: number): boolean
  /** Gives back room that was taken. */
  give(client: string, bytes: number): void
}

/** Makes a budget of `max` bytes of which one client has at most a quarter. A client without an address has no share. */
export function createUnreadBytes(max: number): UnreadBytes {
  const clients = new Registry<number>()
  let all = 0
  return {
    take(client, bytes) {
      const held = client === '' ? 0 : (clients.get(client) ?? 0)
      if (all > 0 && all + bytes > max) return false
      if (held > 0 && held + bytes > max / 4) return false
      all += bytes
      if (client !== '') clients.set(client, held + bytes)
      return true
    },
    give(client, bytes) {
      all -= bytes
      const left = (clients.get(client) ?? 0) - bytes
      if (left > 0) clients.set(client, left)
      else clients.delete(client)
    },
  }
}
