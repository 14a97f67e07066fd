/**
 * The text without these characters at its end. A loop, because a regular expression that ends in `+$` looks at every
 * run of them anew: on text that a stranger wrote its time grows with the square of the length.
 */
export function trimEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--
  return end === text.length ? text : text.slice(0, end)
}

/**
 * Text that a stranger may have written, as a screen may show it: control characters, those that turn the direction of
 * writing, line and paragraph separators and halves of characters are written out as in JSON, so that JSON stays JSON.
 * Tabs and the ends of lines stay.
 */
export function toPrintable(text: string): string {
  return text.replace(unprintable, writtenOut)
}

/** The same for a place of one line, such as an id or a name: a text with further lines could pass for ours. */
export function toPrintableLine(text: string): string {
  return text.replace(unprintableInLine, writtenOut)
}

const unprintable =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufffe\uffff]|\r(?!\n)/gu
const unprintableInLine = new RegExp(`${unprintable.source}|[\\t\\r\\n]`, 'gu')

const shortForms: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function writtenOut(one: string): string {
  return shortForms[one] ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** A name of the code as files write it: `maxRetries` is `max_retries`. */
export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
