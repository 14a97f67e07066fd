/** What can be said of JSON that is not to be parsed, or breaks off. */
interface Skimmed {
  /** The `id` of the outermost object, if it has one that is no object itself. */
  readonly id: unknown
  /** The keys and indexes that lead to the first place that nests too deep; empty where none does. */
  readonly path: readonly (string | number)[]
}

/** Reads over JSON without building anything of it, so that its depth costs nothing. */
export function skimJson(text: string, maxDepth: number): Skimmed {
  /** Where each open array and object is at: the index or the key. */
  const steps: (string | number)[] = []
  let path: Skimmed['path'] = []
  let id: unknown
  let level = 0
  let last = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '"') {
      const end = endOfString(text, i)
      last = text.slice(i, end)
      i = end - 1
    } else if (char === '{' || char === '[') {
      if (level++ < maxDepth) steps[level - 1] = char === '[' ? 0 : ''
      else if (path.length === 0) path = [...steps]
    } else if (char === '}' || char === ']') {
      if (level > 0) level--
      if (level < maxDepth) steps.length = level
    } else if (level > 0 && level <= maxDepth) {
      const step = steps[level - 1]
      if (char === ',' && typeof step === 'number') steps[level - 1] = step + 1
      else if (char === ':') {
        steps[level - 1] = String(parsed(last)).slice(0, maxKeyLength)
        if (level === 1 && last === '"id"') id = scalarAt(text, i + 1)
      }
    }
  }
  return { id, path }
}

const maxKeyLength = 64

/** The offset behind the string that begins here, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++)
    if (text[i] === '\\') i++
    else if (text[i] === '"') return i + 1
  return text.length
}

/** The string, number or null at an offset; undefined if there is another value, or none that is whole. */
function scalarAt(text: string, start: number): unknown {
  let from = start
  while (text[from] === ' ' || text[from] === '\n' || text[from] === '\r' || text[from] === '\t')
    from++
  if (text[from] === '"') return parsed(text.slice(from, endOfString(text, from)))
  let end = from
  while (end < text.length && text[end] !== ',' && text[end] !== '}') end++
  return end < text.length ? parsed(text.slice(from, end)) : undefined
}

/** A scalar that was skimmed; undefined for anything else. */
function parsed(json: string): unknown {
  if (json.startsWith('{') || json.startsWith('[')) return undefined
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
