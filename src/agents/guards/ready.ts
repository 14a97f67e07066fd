import { dataOf, readableText, textOf } from '../../protocol/task.ts'
import type { Json, JsonObject, Part } from '../../protocol/types.ts'
import type { PausableWork } from '../../shared/async.ts'
import type { GuardAction, GuardContent, GuardFunction, GuardSide, GuardVerdict } from './guard.ts'

/** A guard that is ready for use. */
export type ReadyGuard =
  /** Looks at all words that pass, wherever they stand. */
  | {
      readonly kind: 'cleaner'
      readonly name: string
      readonly cleaner: Cleaner
      readonly action: GuardAction
      /** Why it blocks, such as `it has a secret`. */
      readonly reason: string
    }
  /** Asks for a form, which only messages and answers have. */
  | {
      readonly kind: 'form'
      readonly name: string
      /** Long work is done in slices; principals take turns. */
      judge(parts: readonly Part[], principal?: string): GuardVerdict | Promise<GuardVerdict>
    }
  /** A function of the user's. */
  | { readonly kind: 'own'; readonly name: string; readonly judge: GuardFunction }
  /** An agent that is asked. */
  | { readonly kind: 'member'; readonly name: string; readonly member: string }

/** The guards of both sides, ready for use. */
export type ReadyGuards = Readonly<Record<GuardSide, readonly ReadyGuard[]>>

/** Whether there is nothing to look at, on either side. */
export function isUnguarded({ input, output }: ReadyGuards): boolean {
  return input.length === 0 && output.length === 0
}

/** What more can be said of a guard that cannot be used; a hint may also stand alone. */
export interface GuardFaultDetail {
  /** What was probably meant, or what there is. */
  readonly hint?: string | undefined
  /** The character at which a text goes wrong. */
  readonly offset?: number | undefined
}

/** Thrown for a guard that cannot be used; it says what is wrong, and where. */
export class GuardFault extends TypeError {
  override readonly name = 'GuardFault'
  /** Where among the guards: `output`, 1, `deny`. */
  readonly path: readonly (string | number)[]
  /** Why, apart from where. */
  readonly reason: string
  /** What was probably meant, or what there is. */
  readonly hint: string | undefined
  /** The character at which it begins, where a text stands there in which something is wrong. */
  readonly offset: number | undefined

  constructor(
    path: readonly (string | number)[],
    reason: string,
    detail: string | GuardFaultDetail = {},
  ) {
    const { hint, offset }: GuardFaultDetail =
      typeof detail === 'string' ? { hint: detail } : detail
    const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('')
    super(`guards${place} ${reason}${hint ? ` (${hint})` : ''}`)
    this.path = path
    this.reason = reason
    this.hint = hint
    this.offset = offset
  }
}

/** Refuses a setting of a guard, or the guard as a whole where none is named; `path` is where within the setting. */
export type RefuseSetting = (
  key: string | undefined,
  reason: string,
  detail?: GuardFaultDetail & { readonly path?: readonly (string | number)[] },
) => never

export const allowed: GuardVerdict & { readonly verdict: 'allow' } = { verdict: 'allow' }

/** A verdict that lets nothing pass. */
export function blocked(reason: string): { readonly verdict: 'block'; readonly reason: string } {
  return { verdict: 'block', reason }
}

/** Parts as a guard gets them. */
export function toContent(parts: readonly Part[]): GuardContent {
  return { text: readableText(parts), data: dataOf(parts), parts }
}

/** What takes something out of a text; gives the same text where there is nothing to take out. */
export interface Cleaner {
  /** Cleans a short text at once. */
  clean(text: string): string
  /** Cleans a text of any length, with pauses. */
  cleaning(text: string): PausableWork<string>
  /** Whether it looks at notes of programs for programs too, such as metadata, where words mean something else. */
  readonly readsNotes?: boolean
  /** Cleans the value of a member of data, which is clean by itself: its name may say what it is. */
  cleanNamed?(name: string, value: string): string
}

/** Media types of files that hold text. */
const textType =
  /^text\/|^application\/(?:json|xml|yaml|toml|x-ndjson|javascript)\b|\+(?:json|xml)$/i

/** Characters between two pauses, which take a fraction of a millisecond; each text counts as `perText` more. */
export const pauseEvery = 16_384

/** The longest short text: a generator for it would cost more than the look. */
const shortLength = 4_096

const perText = 64

/** One cleaner on one message or value. A cleaner pauses within a long text, and this between many short ones. */
export class Cleaning {
  readonly #cleaner: Cleaner
  #left = pauseEvery

  constructor(cleaner: Cleaner) {
    this.#cleaner = cleaner
  }

  /**
   * The parts without what the cleaner takes out of them: of texts, data and their names, file names, addresses, metadata
   * and files of text. There are as many as before; the same list where nothing was found.
   */
  *parts(parts: readonly Part[]): PausableWork<readonly Part[]> {
    const cleaned: Part[] = []
    for (const part of parts) {
      if (this.#isDue(1)) yield
      cleaned.push(yield* this.#part(part))
    }
    const isSame = cleaned.every((part, index) => part === parts[index])
    return yield* this.#acrossParts(isSame ? parts : cleaned)
  }

  /** JSON without what the cleaner takes out of its texts and names; the same value where nothing was found. */
  *json<T extends Json>(value: T): PausableWork<T> {
    return (yield* this.#value(value)) as T // texts stay texts, lists lists and objects objects
  }

  /** A text without what the cleaner takes out of it. */
  *text(text: string): PausableWork<string> {
    if (text.length <= shortLength) return this.#short(text)
    if (this.#isDue(text.length + perText)) yield
    return yield* this.#cleaner.cleaning(text)
  }

  /** The same without a pause, for short texts: most texts of a trace are. */
  #short(text: string): string {
    this.#left -= text.length + perText
    return this.#cleaner.clean(text)
  }

  *#part(part: Part): PausableWork<Part> {
    const content = yield* this.#content(part)
    const { filename, metadata } = part
    const named = filename === undefined ? filename : yield* this.text(filename)
    const noted = metadata && this.#cleaner.readsNotes ? yield* this.json(metadata) : metadata
    if (content === part && named === filename && noted === metadata) return part
    return {
      ...content,
      ...(named !== undefined && { filename: named }),
      ...(noted && { metadata: noted }),
    }
  }

  *#content(part: Part): PausableWork<Part> {
    if ('text' in part) {
      const text = yield* this.text(part.text)
      return text === part.text ? part : { ...part, text }
    }
    if ('data' in part) {
      const data = yield* this.json(part.data)
      return data === part.data ? part : { ...part, data }
    }
    if ('raw' in part) {
      if (!textType.test((part.mediaType ?? '').slice(0, 200))) return part
      const text = Buffer.from(part.raw, 'base64').toString('utf8')
      const cleaned = yield* this.text(text)
      return cleaned === text ? part : { ...part, raw: Buffer.from(cleaned).toString('base64') }
    }
    const url = yield* this.text(part.url)
    // The rest of the URL cannot be opened, so it becomes text.
    return url === part.url ? part : { text: url }
  }

  /** Finds what is split between parts: where their joined text changes, the first part gets all of it. */
  *#acrossParts(parts: readonly Part[]): PausableWork<readonly Part[]> {
    const texts = parts.filter((part) => 'text' in part)
    if (texts.length < 2) return parts
    const joined = textOf(texts)
    const text = yield* this.text(joined)
    if (text === joined) return parts
    return parts.map((part) =>
      'text' in part ? { ...part, text: part === texts[0] ? text : '' } : part,
    )
  }

  *#value(value: Json): PausableWork<Json> {
    if (typeof value === 'string') return yield* this.text(value)
    if (typeof value !== 'object' || value === null) return value
    return isList(value) ? yield* this.#items(value) : yield* this.#members(value)
  }

  *#items(value: readonly Json[]): PausableWork<Json> {
    // Made at the first difference: most of what is looked at stays as it is.
    let items: Json[] | undefined
    for (let i = 0; i < value.length; i++) {
      // Numbers have nothing to take out, but a million of them take their time.
      if (this.#isDue(1)) yield
      const item = value[i] as Json // within the list
      const left = isPlain(item) ? item : yield* this.#value(item)
      if (left !== item) items ??= value.slice(0, i)
      items?.push(left)
    }
    return items ?? value
  }

  *#members(value: JsonObject): PausableWork<Json> {
    const names = Object.keys(value)
    let members: (readonly [string, Json | undefined])[] | undefined
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string // within the list
      const inner = value[name]
      if (inner === undefined) continue
      if (this.#isDue(1)) yield
      const named = name.length <= shortLength ? this.#short(name) : yield* this.text(name)
      let left = inner
      if (isShort(inner)) left = this.#short(inner)
      else if (!isPlain(inner)) left = yield* this.#value(inner)
      if (typeof left === 'string' && left === inner)
        left = this.#cleaner.cleanNamed?.(named, left) ?? left
      if (named !== name || left !== inner) members ??= Object.entries(value).slice(0, i)
      members?.push([named, left])
    }
    // `fromEntries` also makes an own member of the name `__proto__`.
    return members ? (Object.fromEntries(members) as JsonObject) : value // made of JSON
  }

  /** Counts work; whether it is time to pause. */
  #isDue(work: number): boolean {
    this.#left -= work
    if (this.#left > 0) return false
    this.#left = pauseEvery
    return true
  }
}

function isShort(value: Json): value is string {
  return typeof value === 'string' && value.length <= shortLength
}

function isPlain(value: Json): boolean {
  return typeof value === 'number' || typeof value === 'boolean' || value === null
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
