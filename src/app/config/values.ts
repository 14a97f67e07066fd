import { z } from 'zod'

/** A text that says something. */
export const filledText: z.ZodType<string, string> = z.string().min(1, 'must not be empty')

/** One of some words, case aside; the published schema shows these and other spellings in use. */
export function word<const T extends string>(
  words: readonly T[],
  spellings: readonly string[],
): z.ZodType<T> {
  const lower = (value: unknown): unknown =>
    typeof value === 'string' ? value.toLowerCase() : value
  return z.preprocess(lower, z.enum(words)).meta({ type: 'string', enum: [...words, ...spellings] })
}

/** A number, or a string that holds one: files write numbers both ways. */
export const numberLike: z.ZodType<number, number | string> = z.union([
  z.number(),
  z
    .string()
    // bounded: it is anchored, and a digit parts the blanks
    .regex(/^\s*[+-]?(\d+\.?\d*|\.\d+)\s*$/, 'must be a number')
    .transform(Number),
])

/** A property where there is a value, nothing where there is none. */
export function whenGiven<K extends string, V>(
  key: K,
  value: V | undefined,
): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V }) // one key, one value
}
