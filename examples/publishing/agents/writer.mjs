/** Writes a notice of what it is asked, and a calmer one where it is told to improve it. */

export default function write(message) {
  const text = message.parts.map((part) => part.text ?? '').join('')
  const wanted = /^Improve: ([^\n]*?) because ([^\n]*)/.exec(text)
  return wanted ? `${wanted[1].replaceAll('!', '.')} (${wanted[2].trim()})` : `Notice: ${text}!`
}
