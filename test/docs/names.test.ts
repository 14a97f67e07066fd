import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codesOf } from '../../scripts/markdown/links.ts'
import { pagesOf } from '../../scripts/markdown/tree.ts'

const root = join(import.meta.dirname, '../..')
const pages = pagesOf(root)
const read = (page: string): string => readFileSync(join(root, page), 'utf8')
const schema = JSON.parse(read('schema/corral.schema.json'))

/** Square brackets that are no table of a configuration: of a domain's file, in place of words, of a type. */
const otherBrackets = ['tools.mcp', 'removed', 'key']
/** What `npm start` tells the demo that it starts. */
const withinOurselves = ['CORRAL_BEGAN']

/** Whether the schema has a path of keys. */
function hasKey(node: unknown, path: readonly string[]): boolean {
  const [key, ...rest] = path
  if (key === undefined) return true
  return formsOf(node).some((form) => {
    const { properties = {}, additionalProperties } = form
    const next = Object.hasOwn(properties, key) ? properties[key] : additionalProperties
    return next === true || (typeof next === 'object' && hasKey(next, rest))
  })
}

/** The objects that a value may be, or its items. */
function formsOf(
  node: unknown,
): readonly { properties?: Record<string, unknown>; additionalProperties?: unknown }[] {
  if (typeof node !== 'object' || node === null) return []
  const { $ref, anyOf = [], oneOf = [], allOf = [], items, ...form } = Object(node)
  const inner = [...anyOf, ...oneOf, ...allOf, ...(items ? [items] : [])]
  const target = typeof $ref === 'string' ? [referred($ref)] : []
  return [form, ...[...inner, ...target].flatMap(formsOf)]
}

function referred(ref: string): unknown {
  return ref
    .slice(2)
    .split('/')
    .reduce((node: unknown, key) => Object(node)[key], schema)
}

/** The keys of a table that a page names: `[server.limits] requests`. */
function tableOf(code: string): readonly string[] | undefined {
  const [, table, key] =
    /^\[{1,2}([a-z_]+(?:\.(?:[a-z_]+|"[^"]+"))*)\]{1,2}(?: ([a-z_]+))?/.exec(code) ?? []
  if (table === undefined || otherBrackets.includes(table)) return undefined
  return [...table.replaceAll('"', '').split('.'), ...(key ? [key] : [])]
}

test.each(pages)('%s names only tables and keys that a configuration has', (page) => {
  const faults = codesOf(read(page)).flatMap(({ line, text }) => {
    const path = tableOf(text)
    return path === undefined || hasKey(schema, path) ? [] : [`${page}:${line} ${text}`]
  })
  expect(faults).toEqual([])
})

test('a table or key that no configuration has is found', () => {
  expect(hasKey(schema, ['server', 'limits', 'requests'])).toBe(true)
  expect(hasKey(schema, ['teams', 'scheduler_config', 'steps'])).toBe(true)
  expect(hasKey(schema, ['server', 'limit'])).toBe(false)
  expect(hasKey(schema, ['server', 'cors', 'origin'])).toBe(false)
})

describe('variables of the environment', () => {
  const variablesIn = (text: string): readonly string[] =>
    text.match(/\bCORRAL_[A-Z0-9_]+\b/g) ?? []
  const inFolder = (folder: string): ReadonlySet<string> =>
    new Set(
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.(ts|tsx|mjs)$/.test(file))
        .flatMap((file) => variablesIn(read(join(folder, file)))),
    )
  const documented = new Set(pages.flatMap((page) => variablesIn(read(page))))

  test('that a page names are read somewhere', () => {
    const used = ['src', 'scripts', 'test'].flatMap((folder) => [...inFolder(folder)])
    expect([...documented].filter((name) => !used.includes(name))).toEqual([])
  })

  test('that the source reads stand on a page', () => {
    const read = [...inFolder('src')].filter((name) => !withinOurselves.includes(name))
    expect(read.length).toBeGreaterThan(0)
    expect(read.filter((name) => !documented.has(name))).toEqual([])
  })
})
