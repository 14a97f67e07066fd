import { dataOf, readableText, textOf } from '../../protocol/task.ts'
import type { Json, JsonObject, Part } from '../../protocol/types.ts'
import type { GuardContent } from './guard.ts'

/** Parts as a guard sees them. */
export function toContent(parts: readonly Part[]): GuardContent {
  return { text: readableText(parts), data: dataOf(parts), parts }
}

/** What takes something out of a text; the same text where there is nothing to take out. */
export interface Cleaner {
  clean(text: string): string
  /** Whether it looks at notes of programs for programs too, such as metadata, where words mean something else. */
  readonly readsNotes?: boolean
  /** Whether the name of a member of data says what its value is. */
  readonly readsNames?: boolean
}

/**
 * The parts without what a cleaner takes out of them: of texts, data and their names, file names, addresses, metadata and
 * files of text. There are as many as before; the same list where nothing was found.
 */
export function cleanParts(parts: readonly Part[], cleaner: Cleaner): readonly Part[] {
  const cleaned = parts.map((part) => cleanPart(part, cleaner))
  const isSame = cleaned.every((part, index) => part === parts[index])
  return acrossParts(isSame ? parts : cleaned, cleaner)
}

/** What is cut in two by the border of parts is whole in their joined text, which then stands in the first of them. */
function acrossParts(parts: readonly Part[], { clean }: Cleaner): readonly Part[] {
  const texts = parts.filter((part) => 'text' in part)
  if (texts.length < 2) return parts
  const joined = textOf(texts)
  const text = clean(joined)
  if (text === joined) return parts
  return parts.map((part) =>
    'text' in part ? { ...part, text: part === texts[0] ? text : '' } : part,
  )
}

function cleanPart(part: Part, cleaner: Cleaner): Part {
  const content = cleanContent(part, cleaner)
  const { filename, metadata } = part
  const named = filename === undefined ? filename : cleaner.clean(filename)
  const noted = metadata && cleaner.readsNotes ? cleanJson(metadata, cleaner) : metadata
  if (content === part && named === filename && noted === metadata) return part
  return {
    ...content,
    ...(named !== undefined && { filename: named }),
    ...(noted && { metadata: noted }),
  }
}

function cleanContent(part: Part, cleaner: Cleaner): Part {
  if ('text' in part) {
    const text = cleaner.clean(part.text)
    return text === part.text ? part : { ...part, text }
  }
  if ('data' in part) {
    const data = cleanJson(part.data, cleaner)
    return data === part.data ? part : { ...part, data }
  }
  if ('raw' in part) return isText(part.mediaType) ? cleanFile(part, cleaner) : part
  const url = cleaner.clean(part.url)
  // What is left of it leads nowhere.
  return url === part.url ? part : { text: url }
}

function isText(mediaType = ''): boolean {
  return /^text\/|^application\/(?:json|xml|yaml|toml|x-ndjson|javascript)\b|\+(?:json|xml)$/i.test(
    mediaType.slice(0, 200),
  )
}

function cleanFile(part: Extract<Part, { raw: string }>, { clean }: Cleaner): Part {
  const text = Buffer.from(part.raw, 'base64').toString('utf8')
  const cleaned = clean(text)
  return cleaned === text ? part : { ...part, raw: Buffer.from(cleaned).toString('base64') }
}

/** JSON without what a cleaner takes out of its texts and names; the same value where nothing was found. */
export function cleanJson<T extends Json>(value: T, cleaner: Cleaner): T {
  return cleanValue(value, cleaner) as T // texts stay texts, lists lists and objects objects
}

function cleanValue(value: Json, cleaner: Cleaner): Json {
  if (typeof value === 'string') return cleaner.clean(value)
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) {
    const items = value.map((item) => cleanValue(item, cleaner))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  const given = Object.entries(value).flatMap(([name, inner]) =>
    inner === undefined ? [] : [[name, inner] as const],
  )
  const members = given.map(([name, inner]) => cleanMember(name, inner, cleaner))
  const isSame = members.every(([name, inner], index) => {
    const [before, was] = given[index] ?? []
    return name === before && inner === was
  })
  // Members of its own, whatever they are called.
  return isSame ? value : (Object.fromEntries(members) as JsonObject) // made of JSON
}

function cleanMember(name: string, value: Json, cleaner: Cleaner): readonly [string, Json] {
  const named = cleaner.clean(name)
  const cleaned = cleanValue(value, cleaner)
  if (!cleaner.readsNames || typeof cleaned !== 'string' || cleaned !== value)
    return [named, cleaned]
  const pair = cleaner.clean(`${named}=${cleaned}`)
  return [named, pair.startsWith(`${named}=`) ? pair.slice(named.length + 1) : cleaned]
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
