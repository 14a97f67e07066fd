import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseJsonSchema } from '../../../src/shared/json-schema/parse.ts'
import { SchemaFault } from '../../../src/shared/json-schema/schema.ts'

const fits = async (schema: unknown, value: unknown): Promise<string | undefined> =>
  parseJsonSchema(schema, 'answer')(value)

const person = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
  required: ['name'],
  additionalProperties: false,
}
const tree = {
  type: 'object',
  properties: { sub: { type: 'array', items: { $ref: '#' } } },
  additionalProperties: false,
}

describe('a value is told where it does not fit', () => {
  test.each<[unknown, unknown, string]>([
    [person, [], 'answer must be of type object'],
    [person, {}, 'answer.name is missing'],
    [person, { name: 1 }, 'answer.name must be of type string'],
    [person, { name: 'a', age: -1 }, 'answer.age must be at least 0'],
    [person, { name: 'a', pet: 1 }, 'answer.pet must not be there'],
    [{ items: person }, [{ name: 'a' }, {}], 'answer[1].name is missing'],
    [{ type: ['string', 'null'] }, 1, 'answer must be of type string or null'],
    [{ enum: ['a', { b: 1 }] }, { b: 2 }, 'answer must be one of ["a",{"b":1}]'],
    [{ const: { a: [1] } }, { a: [2] }, 'answer must be {"a":[1]}'],
    [{ exclusiveMaximum: 3 }, 3, 'answer must be below 3'],
    [{ multipleOf: 0.1 }, 0.35, 'answer must be a multiple of 0.1'],
    [{ minLength: 2 }, '😀', 'answer must have at least 2 characters'],
    [{ maxLength: 1 }, 'ab', 'answer must have at most 1 characters'],
    [{ pattern: '^[A-Z]{2}\\d+$' }, 'A12', 'answer must match ^[A-Z]{2}\\d+$'],
    [{ patternProperties: { '^n_': { type: 'number' } } }, { n_a: 'x' }, 'answer.n_a must be of'],
    [
      { patternProperties: { '^n_': true }, additionalProperties: false },
      { n_a: 1, b: 2 },
      'answer.b must not be there',
    ],
    [{ $ref: '#/$defs/a', $defs: { a: { pattern: 'x' } } }, 'y', 'answer must match x'],
    [{ minItems: 1 }, [], 'answer must have at least 1 items'],
    [{ maxProperties: 1 }, { a: 1, b: 2 }, 'answer must have at most 1 members'],
    [
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      'must not have the same item twice',
    ],
    [{ prefixItems: [{ type: 'string' }], items: false }, ['a', 1], 'answer[1] must not be there'],
    [{ contains: { type: 'string' } }, [1], 'answer has 0 items'],
    [{ contains: { const: 1 }, maxContains: 1 }, [1, 1], 'answer has 2 items'],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, 'answer.ab must have at most 1 characters'],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, 'answer.b is missing'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 1, 'answer fits none of anyOf'],
    [{ oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 3, 'answer must fit one of oneOf, and fits 2'],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, 3, 'answer must be at most 2'],
    [{ not: { type: 'string' } }, 'a', 'answer is what it must not be'],
    [JSON.parse('{"if":{"type":"string"},"then":{"minLength":2}}'), 'a', 'at least 2 characters'],
    [{ if: { type: 'string' }, else: { minimum: 2 } }, 1, 'at least 2'],
    [tree, { sub: [{ sub: [{ x: 1 }] }] }, 'answer.sub[0].sub[0].x must not be there'],
    [{ $defs: { 'a/b': { type: 'null' } }, $ref: '#/$defs/a~1b' }, 1, 'must be of type null'],
    [{ format: 'date' }, '2023-02-29', 'answer must have the format date'],
    [{ format: 'ipv4' }, '1.2.3.400', 'answer must have the format ipv4'],
  ])('%j %j', async (schema, value, fault) => {
    expect(await fits(schema, value)).toContain(fault)
  })
})

describe('a value fits', () => {
  test.each<[unknown, unknown]>([
    [person, { name: 'Ada', age: 36 }],
    [tree, { sub: [{}, { sub: [] }] }],
    [{ enum: ['a', { b: 1, c: 2 }] }, { c: 2, b: 1 }],
    [{ multipleOf: 0.1 }, 0.3],
    [{ minLength: 1, minimum: 3, minItems: 1, required: ['a'] }, true],
    [{ maxLength: 1 }, '😀'],
    [{ uniqueItems: true }, [1, '1', [1], { a: 1 }]],
    [true, 1],
    [{}, null],
    [{ title: 'T', description: 'D', 'x-order': 3, $id: 'urn:x', default: 1, examples: [1] }, 2],
    [{ properties: { constructor: { type: 'string' } } }, {}],
    [{ format: 'date-time' }, '2024-02-29T23:59:60.5+01:00'],
    [{ format: 'email' }, 'ada@example.com'],
    [{ format: 'uuid' }, '123e4567-e89b-12d3-a456-426614174000'],
    [{ format: 'duration' }, 'P1DT2H'],
    [{ format: 'ipv6' }, '::ffff:1.2.3.4'],
    [{ format: 'uri' }, 'https://example.com/a'],
    [{ format: 'hostname' }, 'a-b.example'],
    [{ format: 'time' }, '10:00:00Z'],
    [{ pattern: 'b' }, 'abc'],
    [{ pattern: 'b' }, 7],
    [{ patternProperties: {} }, { a: 1 }],
    [{ patternProperties: { '^n_': { type: 'number' } } }, { n_a: 1, b: 'x' }],
    [
      { properties: { a: true }, patternProperties: { '^n_': true }, additionalProperties: false },
      { a: 1, n_b: 2 },
    ],
  ])('%j %j', async (schema, value) => {
    expect(await fits(schema, value)).toBeUndefined()
  })
})

describe('a schema that cannot be checked is refused with its place', () => {
  test.each<[unknown, string, string]>([
    [null, '', 'must be a JSON Schema'],
    [[], '', 'must be a JSON Schema'],
    [
      { properties: { a: { pattern: 'x(?=y)' } } },
      'properties.a.pattern',
      'cannot be checked: looking ahead or behind is not offered: its time has no bound (character 2 of x(?=y))',
    ],
    [{ pattern: '(a)\\1' }, 'pattern', 'references back to a group are not offered'],
    [{ pattern: '[' }, 'pattern', 'the bracket [ is not closed (character 1 of [)'],
    [{ pattern: 'a{900}b{900}' }, 'pattern', 'the pattern is too large'],
    [{ pattern: 7 }, 'pattern', 'must be a text'],
    [{ pattern: { source: 'a' } }, 'pattern', 'must be a text'],
    [{ patternProperties: { '(?!a)': {} } }, 'patternProperties', 'looking ahead or behind'],
    [{ patternProperties: { a: 7 } }, 'patternProperties', 'must be an object of schemas'],
    [{ patternProperties: ['a'] }, 'patternProperties', 'must be an object of schemas'],
    [
      { patternProperties: { a: { patternProperties: { b: { pattern: '*' } } } } },
      'patternProperties.a.patternProperties.b.pattern',
      'there is nothing to repeat',
    ],
    [
      { anyOf: Array.from({ length: 20 }, (_, i) => ({ pattern: `${i}a{900}` })) },
      'anyOf[10].pattern',
      'makes the schema too large',
    ],
    [{ unevaluatedProperties: false }, 'unevaluatedProperties', 'cannot be checked'],
    [{ type: 'string', nullable: true }, 'nullable', 'cannot be checked'],
    [{ anyOf: [{}, { $ref: 'https://example.com/s.json' }] }, 'anyOf[1].$ref', 'within the schema'],
    [{ $ref: '#/$defs/none' }, '$ref', 'within the schema'],
    [{ $ref: '#/__proto__' }, '$ref', 'within the schema'],
    [{ 'x-a': { y: { pattern: '(?=.)' } }, $ref: '#/x-a/y' }, '$ref.pattern', 'cannot be checked'],
    [{ items: [{}] }, 'items', 'must be a schema'],
    [{ properties: { a: { $id: 'urn:x' } } }, 'properties.a.$id', 'cannot be checked'],
    [{ type: 'text' }, 'type', 'must be one or several of object'],
    [{ format: 'colour' }, 'format', 'must be one of the formats'],
    [{ exclusiveMinimum: true }, 'exclusiveMinimum', 'must be a number'],
    [{ constructor: {} }, 'constructor', 'cannot be checked'],
    [{ enum: Array.from({ length: 20_000 }, (_, i) => i) }, '', 'is too large'],
  ])('%#', async (schema, path, message) => {
    const thrown = await faultOf(async () => parseJsonSchema(schema))
    expect(thrown).toMatchObject({ path })
    expect(thrown?.message).toContain(message)
  })
})

describe('work is bounded', () => {
  const endless = { $ref: '#' }
  const doubling = {
    anyOf: [
      { items: { $ref: '#' }, not: {} },
      { items: { $ref: '#' }, not: {} },
    ],
  }
  let nested: unknown[] = []
  for (let depth = 0; depth < 60; depth++) nested = [nested]

  test.each<[string, unknown, unknown, string]>([
    ['a schema that is itself', endless, 1, 'without an end'],
    ['two ways at every level', doubling, nested, 'takes too long'],
    [
      'a large pattern for a long text',
      { pattern: '(?:a?){300}a{300}b' },
      'a'.repeat(1_000_000),
      'takes too long',
    ],
    [
      'many patterns for many members',
      {
        patternProperties: Object.fromEntries(
          Array.from({ length: 500 }, (_, i) => [`a${i}`, true]),
        ),
      },
      Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`a${i}`, true])),
      'takes too long',
    ],
    [
      'long names that are required of many items',
      { items: { required: Array.from({ length: 100 }, (_, i) => `${'n'.repeat(600)}${i}`) } },
      Array.from({ length: 1_000 }, () =>
        Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`${'n'.repeat(600)}${i}`, 1])),
      ),
      'takes too long',
    ],
    [
      'a long text that is counted and compared again and again',
      { items: { allOf: Array.from({ length: 50 }, () => ({ const: 'a'.repeat(60_000) })) } },
      Array.from({ length: 20 }, () => 'a'.repeat(60_000)),
      'takes too long',
    ],
    [
      'lists that must not have the same item twice, looked at from many sides',
      { allOf: Array.from({ length: 100 }, () => ({ uniqueItems: true })) },
      Array.from({ length: 1_000 }, (_, i) => `${'a'.repeat(1_000)}${i}`),
      'takes too long',
    ],
  ])('%s', async (_, schema, value, message) => {
    expect((await faultOf(() => fits(schema, value)))?.message).toContain(message)
  })

  test('choices that stand in a set cost the same however many there are', async () => {
    const schema = { items: { enum: Array.from({ length: 5_000 }, (_, i) => i) } }
    const value = Array.from({ length: 5_000 }, () => 4_999)
    expect(await fits(schema, value)).toBeUndefined()
  })

  test('a reference is resolved once, however long its name and however often it is followed', async () => {
    const name = 'n'.repeat(60_000)
    const schema = { items: { $ref: `#/$defs/${name}` }, $defs: { [name]: { type: 'integer' } } }
    expect(
      await fits(
        schema,
        Array.from({ length: 50_000 }, () => 1),
      ),
    ).toBeUndefined()
  })

  test('a chain of references as long as the schema is followed to its end', async () => {
    const links = Array.from({ length: 4_000 }, (_, i) => [`a${i}`, { $ref: `#/$defs/a${i + 1}` }])
    const schema = { $ref: '#/$defs/a0', $defs: { ...Object.fromEntries(links), a4000: true } }
    expect((await faultOf(() => fits(schema, 1)))?.message).toContain('without an end')
  })

  test('the text of an error is built for the one that is reported alone', async () => {
    let written = 0
    const known = Object.defineProperty({}, 'toJSON', {
      value: () => {
        written++
        return 'known'
      },
    })
    const choices = Array.from({ length: 100 }, () => ({ const: known }))
    expect(await fits({ anyOf: choices }, 'x')).toContain('"known"')
    expect(written).toBe(1)
  })

  test('a long check lets others have their turn, and one that is short is done at once', async () => {
    const check = parseJsonSchema({ items: { type: 'integer' } }, 'answer')
    expect(check([1, 2, 3])).toBeUndefined()
    const order: string[] = []
    const checking = Promise.resolve(
      check(
        Array.from({ length: 300_000 }, () => 1),
        'ann',
      ),
    ).then(() => order.push('checked'))
    const other = new Promise<void>((resolve) =>
      setImmediate(() => {
        order.push('another caller')
        resolve()
      }),
    )
    await Promise.all([checking, other])
    expect(order).toEqual(['another caller', 'checked'])
  })

  test('a value that nests too deep does not fit', async () => {
    for (let depth = 0; depth < 100_000; depth++) nested = [nested]
    expect(await fits(true, nested)).toBe('answer nests too deep')
  })
})

test('whatever the schema, it checks or is refused', async () => {
  const schema = fc.dictionary(
    fc.constantFrom(
      'type',
      'properties',
      'items',
      '$ref',
      'anyOf',
      'enum',
      'required',
      'not',
      'pattern',
    ),
    fc.oneof(fc.jsonValue(), fc.constantFrom('#', 'string', true)),
  )
  await fc.assert(
    fc.asyncProperty(fc.oneof(schema, fc.jsonValue()), fc.jsonValue(), async (given, value) => {
      await faultOf(() => fits(given, value))
    }),
  )
})

async function faultOf(work: () => Promise<unknown>): Promise<SchemaFault | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    if (error instanceof SchemaFault) return error
    throw error
  }
}
