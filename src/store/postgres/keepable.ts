/** Whether a text can stand in a column at all: PostgreSQL has no U+0000 in texts. Nothing has an id that cannot. */
export function isKeepable(text: string): boolean {
  return !text.includes('\u0000')
}
