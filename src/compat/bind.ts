/** Where to listen. */
export interface Address {
  readonly host: string
  readonly port: number
}

/**
 * An address in one string: `0.0.0.0:8080`, `[::1]:8080`, or `:8080` for all interfaces.
 * @throws Error for what is no address.
 */
export function parseAddress(text: string): Address {
  const match = /^(\[[0-9a-f:.]+\]|[^:\s]*):(\d{1,5})$/i.exec(text.trim())
  const port = Number(match?.[2])
  if (!match || port > 65_535)
    throw new Error(`"${text}" is no address; write it as "0.0.0.0:8080"`)
  const host = match[1]?.replace(/^\[|\]$/g, '')
  return { host: host || '0.0.0.0', port }
}
