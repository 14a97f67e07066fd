import { A2AError } from '../../../protocol/errors.ts'
import { asRaw, pick, type Raw } from './raw.ts'

/** What a part holds, by the tag that names it; files may be nested or flat. */
const contents: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  data: ['data'],
  file: ['file', 'bytes', 'uri', 'raw', 'url', 'fileWithBytes', 'fileWithUri', 'data'],
}

/**
 * Checks that the parts of a message are what their tags say: 0.3's `kind`, RANCH's `type`. A part without a tag is told
 * by its content. 1.0 has no tags and ignores members of these names.
 *
 * @throws A2AError `invalidMessage` for a tag that is unknown or that the content contradicts.
 */
export function checkTags(message: unknown): void {
  const parts = asRaw(message)?.parts
  if (!Array.isArray(parts)) return
  for (let i = 0; i < parts.length; i++) {
    const raw = asRaw(parts[i])
    if (raw && (raw.kind !== undefined || raw.type !== undefined)) checkTag(raw, i)
  }
}

function checkTag(raw: Raw, index: number): void {
  const tag = pick(raw, 'kind', 'type')
  if (tag === undefined) return
  const field = `message.parts[${index}].${raw.kind === tag ? 'kind' : 'type'}`
  const names = typeof tag === 'string' && Object.hasOwn(contents, tag) ? contents[tag] : undefined
  if (!names) refuse(field, 'must be text, file or data')
  if (pick(raw, ...names) === undefined && !(tag === 'data' && raw.data === null))
    refuse(field, `is ${tag}, which the part does not hold`)
}

function refuse(field: string, description: string): never {
  throw new A2AError('invalidMessage', `${field}: ${description}`, {
    violations: [{ field, description }],
  })
}
