import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { type Form, type KeySchema, tablesOf } from '../../../scripts/configuration/tables.ts'
import { parseConfig, toConfigJsonSchema } from '../../../src/app/config/load.ts'
import { ConfigError } from '../../../src/app/config/locate.ts'
import { fileWith } from './places.ts'

/** A key of a table, in one of the forms that the table can have. */
interface Place {
  readonly path: string
  readonly form: Form
  readonly key: string
}

const schema = toConfigJsonSchema() as KeySchema // what zod makes is a JSON Schema
const keys: readonly Place[] = [...tablesOf(schema)].flatMap(([path, forms]) =>
  forms.flatMap((form) => Object.keys(form.properties).map((key) => ({ path, form, key }))),
)
const factsOf = ({ form, key }: Omit<Place, 'path'>): KeySchema => form.properties[key] ?? {}

describe('every key of a file', () => {
  test('has a description in one or two sentences, and an example', () => {
    const wanting = keys.filter((one) => {
      const { description = '', examples = [] } = factsOf(one)
      const sentences = description.split(/(?<=[.?!])\s+(?=[A-Z`])/).length
      return !/[.]$/.test(description) || sentences > 2 || examples.length === 0
    })
    expect(wanting.map(({ path, key }) => `${path}.${key}`)).toEqual([])
    expect(keys.length).toBeGreaterThan(200)
  })

  test('takes its examples, and its default written out', () => {
    expect(keys.flatMap(faultsOf)).toEqual([])
  })

  test('refuses what it can never hold, at its place', () => {
    const wrong = keys.filter(({ path, form, key }) => {
      const error = errorOf(fileWith(path, form, { key, value: [[[]]] }))
      return !error?.problems.some((problem) => problem.path.includes(key))
    })
    expect(wrong.map(({ path, key }) => `${path}.${key}`)).toEqual([])
  })

  test('is what its name with letters too many is meant to be', () => {
    const named = keys.filter(({ path }) => path !== 'agents.metadata' && !path.endsWith('.input'))
    const unknown = named.filter(({ path, form, key }) => {
      const [value] = factsOf({ form, key }).examples ?? []
      const error = errorOf(fileWith(path, form, { key: `${key}s_`, value }))
      return !error?.problems.some(({ hint }) => hint === `did you mean ${key}?`)
    })
    expect(unknown.map(({ path, key }) => `${path}.${key}`)).toEqual([])
  })
})

function errorOf(file: object): ConfigError | undefined {
  try {
    parseConfig(stringify(file), { env, directory: publishing })
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  return undefined
}

/** The values of a key that a file with them at their place is refused for. */
function faultsOf({ path, form, key }: Place): readonly string[] {
  const { examples = [], default: usual } = factsOf({ form, key })
  const values = usual === undefined ? examples : [...examples, usual]
  return values.flatMap((value) => {
    const text = stringify(fileWith(path, form, { key, value }))
    try {
      parseConfig(text, { env, directory: publishing })
      return []
    } catch (error) {
      return [`${path}.${key} = ${JSON.stringify(value)}: ${error}`]
    }
  })
}

/** Where schemas are that examples name by their files. */
const publishing = join(import.meta.dirname, '../../../examples/publishing')

/** All variables that examples name. */
const env: Readonly<Record<string, string>> = Object.fromEntries(
  [...JSON.stringify(schema).matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [String(name), 'secret']),
)
