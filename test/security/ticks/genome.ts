import type { Random } from '../../durability/random.ts'

/**
 * An input in short: JSON in which a few objects stand for much of the same. So a megabyte is a line of a corpus, and a
 * mutation changes a number instead of copying the megabyte.
 */
export type Genome =
  | string
  | number
  | boolean
  | null
  | readonly Genome[]
  | { readonly [key: string]: Genome }

type Fields = { readonly [key: string]: Genome }

/** What the objects with a `$` stand for. `§` in a text within `$list` or `$keys` is the number of the copy. */
interface Form {
  size(fields: Fields): number
  expand(fields: Fields, number: string): unknown
}

const forms: Readonly<Record<string, Form>> = {
  /** `{ $text: 'ab', n: 3 }`: `ababab`. */
  $text: {
    size: (fields) => sizeOf(fields.$text ?? '') * count(fields),
    expand: (fields, number) =>
      numbered(String(expand(fields.$text ?? '', number)), number).repeat(count(fields)),
  },
  /** `{ $cat: ['a', { $text: 'b', n: 3 }] }`: `abbb`. */
  $cat: {
    size: (fields) => sizeOf(fields.$cat ?? []),
    expand(fields, number) {
      const pieces = expand(fields.$cat ?? [], number)
      return (Array.isArray(pieces) ? pieces : [pieces])
        .map((piece) => (typeof piece === 'string' ? piece : JSON.stringify(piece)))
        .join('')
    },
  },
  /** `{ $list: item, n: 3 }`: three items. */
  $list: {
    size: (fields) => (sizeOf(fields.$list ?? null) + 1) * count(fields),
    expand: (fields) =>
      Array.from({ length: count(fields) }, (_, i) => expand(fields.$list ?? null, `${i}`)),
  },
  /** `{ $keys: item, n: 3, as: 'k' }`: three fields `k0` to `k2`, beside those of `and`. */
  $keys: {
    size: (fields) =>
      (sizeOf(fields.$keys ?? null) + sizeOf(fields.as ?? 'k') + 8) * count(fields) +
      sizeOf(fields.and ?? {}),
    expand(fields, number) {
      const { as = 'k', and = {} } = fields
      const name = String(expand(as, number))
      const keys = Array.from({ length: count(fields) }, (_, i) => [
        `${name}${i}`,
        expand(fields.$keys ?? null, `${i}`),
      ])
      return { ...Object(expand(and, number)), ...Object.fromEntries(keys) }
    },
  },
  /** `{ $nest: inner, n: 3, as: 'a' }`: `{a:{a:{a:inner}}}`; lists where `as` is empty. */
  $nest: {
    size: (fields) => sizeOf(fields.$nest ?? null) + (sizeOf(fields.as ?? '') + 4) * count(fields),
    expand(fields, number) {
      const name = String(fields.as ?? '')
      let value = expand(fields.$nest ?? null, number)
      for (let i = 0; i < Math.min(count(fields), 2_000); i++)
        value = name === '' ? [value] : { [name]: value }
      return value
    },
  },
}

/** About how many bytes it stands for; read it before you expand one. */
export function sizeOf(genome: Genome): number {
  if (typeof genome === 'string') return genome.length + 2
  if (typeof genome !== 'object' || genome === null) return 4
  if (isList(genome)) return genome.reduce<number>((sum, item) => sum + sizeOf(item) + 1, 2)
  const form = formOf(genome)
  if (form) return form.size(genome)
  return Object.entries(genome).reduce(
    (sum, [key, value]) => sum + key.length + 4 + sizeOf(value),
    2,
  )
}

/** What it stands for. */
export function expand(genome: Genome, number = ''): unknown {
  if (typeof genome === 'string') return numbered(genome, number)
  if (typeof genome !== 'object' || genome === null) return genome
  if (isList(genome)) return genome.map((item) => expand(item, number))
  const form = formOf(genome)
  if (form) return form.expand(genome, number)
  return Object.fromEntries(
    Object.entries(genome).map(([key, value]) => [numbered(key, number), expand(value, number)]),
  )
}

function isList(genome: Genome): genome is readonly Genome[] {
  return Array.isArray(genome)
}

function formOf(fields: Fields): Form | undefined {
  for (const name in forms) if (name in fields) return forms[name]
  return undefined
}

function count({ n }: Fields): number {
  return typeof n === 'number' ? Math.max(0, Math.min(5_000_000, Math.floor(n))) : 1
}

function numbered(text: string, number: string): string {
  return number === '' ? text : text.replaceAll('§', number)
}

/** Changes one place of an input; `others` are inputs from which a piece may be taken. */
export function mutate(genome: Genome, random: Random, others: readonly Genome[]): Genome {
  const places = placesIn(genome)
  const place = random.pick(places)
  return put(genome, place, change(at(genome, place), random, others))
}

/** An input with much more in one place: `number` says in which, and of what. */
export function grow(genome: Genome, number: number): Genome {
  const places = placesIn(genome).filter(([first]) => first !== 'method')
  const place = places[number % places.length] ?? []
  const value = at(genome, place)
  const isEven = Math.floor(number / places.length) % 2 === 0
  if (isEven && typeof value === 'string') return put(genome, place, { $text: 'x', n: 300_000 })
  const n = Math.floor(1_000_000 / (sizeOf(value) + 12))
  const grown: Genome = isEven ? { $list: value, n } : { $keys: value, n, as: 'k', and: {} }
  return put(genome, place, grown)
}

type Place = readonly string[]

function placesIn(genome: Genome, here: Place = []): readonly Place[] {
  if (typeof genome !== 'object' || genome === null) return [here]
  const inner = Object.entries(genome).flatMap(([key, value]) => placesIn(value, [...here, key]))
  return here.length === 0 ? inner : [here, ...inner]
}

function at(genome: Genome, [key, ...rest]: Place): Genome {
  if (key === undefined) return genome
  return at(Object(genome)[key] ?? null, rest)
}

function put(genome: Genome, [key, ...rest]: Place, value: Genome): Genome {
  if (key === undefined) return value
  if (isList(Object(genome))) {
    const list = [...Object(genome)]
    list[Number(key)] = put(list[Number(key)], rest, value)
    return list
  }
  return { ...Object(genome), [key]: put(Object(genome)[key] ?? null, rest, value) }
}

const characters = [
  ...['a', '.', ' ', '\n', '\t', '"', '\\', '/', '%', '[', '{', ',', ';', '=', '0', '-', '_', ':'],
  ...[
    '@',
    '#',
    '<',
    '&',
    '\u0000',
    '\u0007',
    'é',
    'é',
    '\u0301',
    '😀',
    '\ud800',
    '\udc00',
    '﷽',
    '\u202e',
  ],
  ...[
    'a.',
    'a@',
    'sk-',
    'eyJ',
    '-----BEGIN ',
    'password=',
    '{{',
    '```json\n{',
    '%2e',
    '\r\n',
    'data: x\n',
    'ab ',
  ],
] as const

const words = [
  '',
  '__proto__',
  '$ref',
  '*',
  'null',
  'Infinity',
  '1e999',
  'data:image/png;base64,AAAA',
  'https://a.example/',
] as const

const numbers = [0, -1, 1.5, 1e21, 4294967296, Number.MAX_SAFE_INTEGER, -0] as const

function change(genome: Genome, random: Random, others: readonly Genome[]): Genome {
  const n = Math.ceil(10 ** (random.next() * 5))
  if (typeof genome === 'number' && random.chance(0.85))
    return random.chance(0.7)
      ? Math.ceil(genome * random.pick([0.5, 2, 2, 4, 10]) + random.between(-1, 1))
      : random.pick(numbers)
  if (typeof genome === 'string' && random.chance(0.7)) {
    const grown = { $text: random.pick(characters), n }
    const cut = random.between(0, genome.length)
    return random.pick<Genome>([
      grown,
      { $cat: [genome.slice(0, cut), grown, genome.slice(cut)] },
      { $text: genome, n },
      random.pick(words),
    ])
  }
  return random.pick<() => Genome>([
    () => ({ $list: genome, n }),
    () => ({ $list: genome, n }),
    () => ({
      $keys: genome,
      n,
      as: random.pick(['k', '§', '.', 'a.b', '\u0000']),
      and: isPlain(genome) ? genome : {},
    }),
    () => ({ $nest: genome, n: Math.min(n, 70), as: random.pick(['', 'a', '$ref', 'items']) }),
    () => pieceOf(random.pick(others), random),
    () => (Array.isArray(genome) ? [...genome, ...genome] : [genome, genome]),
    () => random.pick(words),
  ])()
}

function isPlain(genome: Genome): genome is Fields {
  return typeof genome === 'object' && genome !== null && !isList(genome) && !formOf(genome)
}

function pieceOf(genome: Genome, random: Random): Genome {
  return at(genome, random.pick(placesIn(genome)))
}
