/**
 * Fills the tables of keys into docs/configuration.md from the JSON Schema:
 *
 *     <!-- keys: server.limits -->
 *     …a row for each key…
 *     <!-- /keys -->
 *
 * `<!-- keys: a.b like c -->` names the keys that are the same as in the table `c` in one line instead of describing them.
 */
import { type Form, type KeySchema, tablesOf } from './tables.ts'
import { toTomlValue, typeOf } from './words.ts'

const marker = /(<!-- keys: (\S+?)(?: like (\S+?))? -->\n)[\s\S]*?(<!-- \/keys -->)/g

/** The page with its tables of keys as the schema has them. @throws Error for a table that there is not. */
export function fillKeys(page: string, root: KeySchema): string {
  const tables = tablesOf(root)
  const formsOf = (path: string): readonly Form[] => {
    const forms = tables.get(path)
    if (!forms) throw new Error(`There is no table ${path} in the schema`)
    return forms
  }
  return page.replace(marker, (_, head: string, path: string, other: string | undefined, end) => {
    const base = other === undefined ? [] : formsOf(other)
    return `${head}\n${toKeys(formsOf(path), base)}\n\n${end}`
  })
}

/** The paths of the tables whose keys a page shows. */
export function tablesIn(page: string): readonly string[] {
  return [...page.matchAll(marker)].map(([, , path = '']) => path)
}

function toKeys(forms: readonly Form[], base: readonly Form[]): string {
  const [first] = forms
  if (forms.length === 1 && first) return toTable(first, Object.keys(first.properties), base)
  return forms.map(toAlternative).join('\n\n')
}

/** One of several ways to write a table: what it is known by, and its other keys. */
function toAlternative(form: Form): string {
  const [kind = '', ...beside] = form.required
  const { const: name, enum: names = [], description } = form.properties[kind] ?? {}
  const values = name === undefined ? names : [name]
  const all = Object.keys(form.properties)
  if (values.length === 0)
    return `**With \`${beside.at(-1) ?? kind}\`:**\n\n${toTable(form, all, [])}`
  const known = values.map((value) => `\`${kind} = ${toTomlValue(value)}\``).join(' or ')
  const rest = all.filter((key) => key !== kind)
  return `**${known}:** ${description}\n\n${toTable(form, rest, [])}`
}

function toTable(form: Form, keys: readonly string[], base: readonly Form[]): string {
  const known = (key: string): boolean =>
    base.some(
      ({ properties }) => properties[key]?.description === form.properties[key]?.description,
    )
  const [own, shared] = [keys.filter((key) => !known(key)), keys.filter(known)]
  const rows = own.map((key) => toRow(key, form))
  const table = ['| key | type | default | what it does |', '|---|---|---|---|', ...rows].join('\n')
  if (shared.length === 0) return table
  return `${table}\n\nThe same as above: ${shared.map((key) => `\`${key}\``).join(', ')}.`
}

function toRow(key: string, { properties, required }: Form): string {
  const schema = properties[key] ?? {}
  const { description = '', deprecated } = schema
  const absent = required.includes(key) ? 'required' : ''
  const value = schema.default === undefined ? absent : `\`${toTomlValue(schema.default)}\``
  const words = deprecated ? `*Deprecated.* ${description}` : description
  const cells = [`\`${key}\``, typeOf(schema), value, words]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}
