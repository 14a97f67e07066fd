import { isFields } from '../json.ts'
import { PatternFault } from '../pattern/fault.ts'
import { compilePattern, type Pattern } from '../pattern/pattern.ts'
import { type Keyword, type KeywordSite, shapes } from './keyword.ts'
import { type Schema, SchemaFault, type Site, spend } from './schema.ts'

/** How large the patterns of a schema may be together. */
const maxSize = 10_000

/** The patterns of a schema by their sources: each is read once. */
export class SchemaPatterns {
  readonly #patterns = new Map<string, Pattern>()
  #size = 0

  /** Reads the patterns under a word. @throws SchemaFault for one that cannot be checked. */
  add(name: string, rule: unknown, path: string): void {
    for (const source of sourcesOf(name, rule)) {
      if (this.#patterns.has(source)) continue
      const pattern = readPattern(source, path)
      this.#size += pattern.size
      if (this.#size > maxSize) throw new SchemaFault(path, 'makes the schema too large')
      this.#patterns.set(source, pattern)
    }
  }

  /** Whether a pattern is in a text. */
  test(source: string, text: string, site: Site): boolean {
    const pattern = this.#patterns.get(source)
    // Without a pattern the schema would not have been taken.
    if (!pattern) throw new SchemaFault('', `has a pattern that was not read: ${source}`)
    spend(site, 1 + Math.floor((text.length * pattern.size) / 64))
    return pattern.test(text)
  }
}

/** The words that have regular expressions. */
export const patternKeywords: Readonly<Record<'pattern' | 'patternProperties', Keyword>> = {
  pattern: {
    faultOf: (rule) => (shapes.text.is(rule) ? undefined : `must be ${shapes.text.words}`),
    innerOf: () => [],
    check(rule, value, site) {
      if (typeof value !== 'string' || site.run.patterns.test(String(rule), value, site))
        return undefined
      return `${site.path} must match ${clip(String(rule))}`
    },
  },
  patternProperties: {
    faultOf: (rule) => (shapes.named.is(rule) ? undefined : `must be ${shapes.named.words}`),
    innerOf: (rule) => (shapes.named.is(rule) ? (shapes.named.innerOf?.(rule) ?? []) : []),
    check(rule, value, site) {
      if (!shapes.named.is(rule) || !isFields(value)) return undefined
      for (const name of Object.keys(value))
        for (const schema of schemasFor(name, rule, site)) {
          const { depth, run } = site
          const fault = run.fits(schema, value[name], { path: `${site.path}.${name}`, depth, run })
          if (fault !== undefined) return fault
        }
      return undefined
    },
  },
}

/** Whether a member is one that `patternProperties` speaks of. */
export function isPatternProperty(name: string, site: KeywordSite): boolean {
  const { patternProperties: rule } = site.schema
  return shapes.named.is(rule) && schemasFor(name, rule, site).length > 0
}

function schemasFor(
  name: string,
  rule: Readonly<Record<string, Schema>>,
  site: Site,
): readonly Schema[] {
  return Object.keys(rule)
    .filter((source) => site.run.patterns.test(source, name, site))
    .map((source) => rule[source] ?? true)
}

function sourcesOf(name: string, rule: unknown): readonly string[] {
  if (name === 'pattern') return [String(rule)]
  return name === 'patternProperties' && isFields(rule) ? Object.keys(rule) : []
}

function readPattern(source: string, path: string): Pattern {
  try {
    return compilePattern(source)
  } catch (thrown) {
    if (!(thrown instanceof PatternFault)) throw thrown
    const place = `character ${thrown.position + 1} of ${clip(source)}`
    throw new SchemaFault(path, `cannot be checked: ${thrown.message} (${place})`, thrown.position)
  }
}

function clip(text: string): string {
  return text.length > 100 ? `${text.slice(0, 99)}…` : text
}
