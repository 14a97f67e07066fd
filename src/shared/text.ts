/**
 * The text without these characters at its end. A loop, because a regular expression that ends in `+$` looks at every
 * run of them anew: on text that a stranger wrote its time grows with the square of the length.
 */
export function trimEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--
  return end === text.length ? text : text.slice(0, end)
}
