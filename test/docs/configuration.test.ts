import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { fillKeys, tablesIn } from '../../scripts/configuration/page.ts'
import { type Form, type KeySchema, tablesOf } from '../../scripts/configuration/tables.ts'
import { builtIns } from '../../src/agents/guards/built-in.ts'
import { toConfigJsonSchema } from '../../src/app/config/load.ts'
import { stepKinds } from '../../src/app/config/steps.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const schema = toConfigJsonSchema() as KeySchema // what zod makes is a JSON Schema
const tables = tablesOf(schema)
const page = read('docs/configuration.md')

describe('R-W17: docs/configuration.md', () => {
  test('has the keys of the schema (else run: npm run schema)', () => {
    expect(page).toBe(fillKeys(page, schema))
  })

  test('shows every table, those that are the same elsewhere once', () => {
    const shown = new Set(tablesIn(page))
    const missing = [...tables].filter(([path]) => !shown.has(path) && !isShownElsewhere(path))
    expect(missing.map(([path]) => path)).toEqual([])
  })

  test('refuses a table that there is not', () => {
    expect(() => fillKeys('<!-- keys: server.limit -->\n<!-- /keys -->', schema)).toThrow(
      'There is no table server.limit',
    )
  })
})

/** Guards may stand in many places; the page describes them in one. */
function isShownElsewhere(path: string): boolean {
  return path.endsWith('.guards') && path !== 'agents.guards'
}

describe('examples/config.example.toml', () => {
  const written = placesIn(parse(read('examples/config.example.toml')), '')

  test('has every key, unless it is deprecated or the same as in a step', () => {
    const own = [...tables].filter(([path]) => path !== '/' && !isShownElsewhere(path))
    const missing = own.flatMap(([path, forms]) =>
      forms.flatMap(({ properties }) =>
        Object.entries(properties)
          .filter(([key, { deprecated }]) => !deprecated && !written.has(`${path}.${key}`))
          .filter(([key, { description }]) => stepKeys[key]?.description !== description)
          .map(([key]) => `${path}.${key}`),
      ),
    )
    expect(missing).toEqual([])
  })

  test('has every key that has a default with its default', () => {
    const others = [...tables].flatMap(([path, forms]) =>
      forms.flatMap(({ properties }) =>
        Object.entries(properties).flatMap(([key, facts]) => {
          const values = written.get(`${path}.${key}`)
          if (facts.default === undefined || !values) return []
          return values.includes(JSON.stringify(facts.default)) ? [] : [`${path}.${key}: ${values}`]
        }),
      ),
    )
    expect(others).toEqual([])
  })
})

const [{ properties: stepKeys } = { properties: {} }]: readonly Pick<Form, 'properties'>[] =
  tables.get('teams.scheduler_config.steps') ?? []

/** Every key of a file by its path as the tables have it, with the values that it has as JSON. */
function placesIn(value: unknown, path: string): Map<string, string[]> {
  const places = new Map<string, string[]>()
  const visit = (one: unknown, here: string): void => {
    if (Array.isArray(one)) for (const item of one) visit(item, here)
    else if (typeof one === 'object' && one !== null)
      for (const [key, inner] of Object.entries(one)) {
        const names = here === 'prices' ? ['*'] : [key]
        const place = toTablePath([here, ...names].filter(Boolean).join('.'))
        places.set(place, [...(places.get(place) ?? []), JSON.stringify(inner)])
        visit(inner, place)
      }
  }
  visit(value, path)
  return places
}

/** Steps within steps, and guards of either side, are of the same kind. */
function toTablePath(path: string): string {
  return path
    .replace(
      /^(teams\.scheduler_config\.steps)\.(?:parallel|(?:branch|loop|map)\.steps)(?=\.)/,
      '$1',
    )
    .replace(/^(agents\.guards)\.output(?=\.)/, '$1.input')
}

describe('the tables of the guides', () => {
  test('have every built-in guard', () => {
    const rows = rowsOf('docs/guides/guards.md')
    const missing = Object.keys(builtIns).filter((name) => !rows.includes(`"${name}"`))
    expect(missing).toEqual([])
  })

  test('have every kind of workflow step', () => {
    const rows = rowsOf('docs/guides/workflows.md')
    expect(stepKinds.filter((kind) => !rows.includes(`| \`${kind}\` |`))).toEqual([])
  })
})

function rowsOf(path: string): string {
  const lines = read(path).split('\n')
  return lines.filter((line) => line.startsWith('|')).join('\n')
}
