import type { Part } from '../../src/protocol/types.ts'

/** As much as may be attached to one message. */
const maxBytes = 1_000_000

/** A file that the user chose as a part; text stays text. */
export async function toPart(file: File): Promise<Part> {
  if (file.size > maxBytes)
    throw new Error(`${file.name} is larger than 1 MB; give the agent its address instead.`)
  const mediaType = file.type || 'application/octet-stream'
  const about = { filename: file.name, mediaType }
  if (mediaType.startsWith('text/')) return { text: await file.text(), ...about }
  if (mediaType === 'application/json')
    try {
      return { data: JSON.parse(await file.text()), ...about }
    } catch {} // no JSON in spite of its type: bytes then
  return { raw: toBase64(new Uint8Array(await file.arrayBuffer())), ...about }
}

/** Whether a link may be shown as one: only the web's own schemes. */
export function isTextual(url: string): boolean {
  return /^https?:\/\//i.test(url)
}

/** Bytes in base64 as something that can be saved; whoever made it revokes it. */
export function toBlobUrl(raw: string, mediaType = 'application/octet-stream'): string {
  const text = atob(raw.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0))
  return URL.createObjectURL(new Blob([bytes], { type: mediaType }))
}

function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}
