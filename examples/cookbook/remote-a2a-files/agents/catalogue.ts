/** Lists the files it is given, and hands them on. */
import type { Message, Part } from 'corral'

export default async function* catalogue({ parts }: Message): AsyncGenerator<Part> {
  const files = parts.filter((part) => 'raw' in part)
  const names = files.map(({ filename, mediaType }) => `${filename} (${mediaType})`)
  yield { text: `In the catalogue: ${names.join(', ')}` }
  yield* files
}
