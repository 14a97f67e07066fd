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
 * Text that a stranger may have written, as a terminal may show it: control characters, and those that turn the
 * direction of writing, are written out. Line feeds and tabs stay.
 */
export function toPrintable(text: string): string {
  return text.replace(unprintable, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const unprintable =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
