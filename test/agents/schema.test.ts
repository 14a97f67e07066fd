import { type } from 'arktype'
import * as v from 'valibot'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { toDataSchema } from '../../src/agents/schema.ts'
import type { Json } from '../../src/protocol/types.ts'

const jsonSchema = {
  type: 'object',
  properties: { score: { type: 'number' } },
  required: ['score'],
} as const
const at = 'outputSchema of step "review"'

const schemas = {
  zod: toDataSchema(z.object({ score: z.number() }), { at }),
  arktype: toDataSchema(type({ score: 'number' }), { at }),
  valibot: toDataSchema(v.object({ score: v.number() }), { at, jsonSchema }),
  'a JSON Schema': toDataSchema(jsonSchema, { at }),
}

test.each(Object.entries(schemas))(
  '%s reads what fits, and says what does not and where',
  async (_, schema) => {
    expect(await schema.read({ score: 0.5 })).toEqual({ data: { score: 0.5 } })
    const { fault } = await schema.read({ score: 'high' })
    expect(fault).toContain('the answer.score')
    expect(schema.jsonSchema).toMatchObject({ type: 'object', required: ['score'] })
  },
)

test('a schema says the type of its data', () => {
  expectTypeOf(schemas.zod.read).returns.resolves.toMatchTypeOf<
    { readonly data: { score: number } } | { readonly fault: string }
  >()
  expectTypeOf(schemas['a JSON Schema'].read).returns.resolves.toMatchTypeOf<
    { readonly data: Json } | { readonly fault: string }
  >()
})

test('a library that gives no JSON Schema is named, and what to do', () => {
  const make = () => toDataSchema(v.object({ score: v.number() }), { at })
  expect(make).toThrow(
    `${at}: valibot gives no JSON Schema; write its JSON Schema beside it as jsonSchema`,
  )
  const date = () => toDataSchema(z.object({ on: z.date() }), { at })
  expect(date).toThrow(/^outputSchema of step "review": zod gives no JSON Schema of it \(/)
})

test('a JSON Schema that cannot be checked is refused with its place', () => {
  const make = () => toDataSchema({ properties: { a: { pattern: '^(?=a)' } } }, { at })
  expect(make).toThrow(`${at}: properties.a.pattern cannot be checked: looking ahead`)
  // @ts-expect-error a text is no schema
  expect(() => toDataSchema('object', { at })).toThrow(
    `${at} is neither a schema nor a JSON Schema`,
  )
})

test('a value that a JSON Schema cannot come to an end with does not fit', async () => {
  const endless = toDataSchema({ $ref: '#' }, { at })
  expect(await endless.read(1)).toEqual({
    fault: 'the answer cannot be checked: the schema refers to itself without an end',
  })
})
