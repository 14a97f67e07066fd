/** Reads the draft over and gives it its last form, a few words at a time. */

const wordsPerChunk = 6

export default async function* advise(message, turn) {
  const draft = message.parts.map((part) => part.text ?? '').join('')
  const story = `${tidy(draft)}\n\nThe End.`
  const words = story.match(/\S+\s*/g) ?? []
  for (let at = 0; at < words.length; at += wordsPerChunk) {
    turn.signal.throwIfAborted()
    yield words.slice(at, at + wordsPerChunk).join('')
  }
}

/** No double spaces, no spaces before a stop, no word twice in a row. */
function tidy(text) {
  return text
    .replace(/[ \t]+/g, ' ')
    .replace(/ ([,.;:!?])/g, '$1')
    .replace(/\b(\w+) \1\b/gi, '$1')
    .trim()
}
