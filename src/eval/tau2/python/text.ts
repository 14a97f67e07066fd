import { floatRepr } from './float.ts'
import { fieldsOf, isDict, isInstance, modelName, type Value } from './value.ts'

/** `str(value)`: a string as it is, everything else as its `repr`; an instance without its name. */
export function str(value: Value): string {
  if (typeof value === 'string') return value
  return isInstance(value) ? fieldTexts(value).join(' ') : repr(value)
}

/** `repr(value)`: what Python writes inside containers and in error messages. */
export function repr(value: Value): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return floatRepr(value)
  if (typeof value === 'string') return quote(value)
  if (isInstance(value)) return `${value[modelName]}(${fieldTexts(value).join(', ')})`
  if (isDict(value)) return `{${[...value].map(([k, v]) => `${quote(k)}: ${repr(v)}`).join(', ')}}`
  return `[${value.map(repr).join(', ')}]`
}

function fieldTexts(instance: Parameters<typeof fieldsOf>[0]): string[] {
  return fieldsOf(instance).map(([name, field]) => `${name}=${repr(field)}`)
}

const escapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

/** Single quotes, unless the text has some and no double ones; what is not printable is escaped. */
function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inner = text.replace(/[\\\n\r\t]|(?! )[\p{C}\p{Z}]/gu, (c) => escapes[c] ?? codeOf(c))
  return `${mark}${mark === "'" ? inner.replaceAll("'", "\\'") : inner}${mark}`
}

function codeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
}
