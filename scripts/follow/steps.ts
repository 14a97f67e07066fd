/**
 * What a page tells its reader to do, in order: files to save, commands to type. The marks that steer this are described
 * in CONTRIBUTING.md.
 */
import { type Fence, type Item, type Mark, parsePage, valuesOf } from '../markdown/page.ts'

/** Where a part of a page is followed. */
export const places = ['clone', 'empty', 'project', 'typescript'] as const
export type Place = (typeof places)[number]

/** A block of commands, and what it must come to. */
export interface Commands {
  readonly kind: 'run' | 'background' | 'fails'
  readonly line: number
  readonly text: string
  /** The lines that it must print, in this order; `…` stands for anything. */
  readonly expected: readonly string[]
}

/** Something that the reader does. */
export type Step =
  | Commands
  | { readonly kind: 'save'; readonly line: number; readonly name: string; readonly text: string }
  | { readonly kind: 'skip'; readonly line: number; readonly text: string; readonly reason: string }
  | { readonly kind: 'stop'; readonly line: number }

/** What is done in one place, with nothing from before. */
export interface Part {
  readonly place: Place
  readonly steps: readonly Step[]
}

/** A mark that says nothing a script understands. */
export class MarkError extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** The parts of a page; a part that is also meant for TypeScript comes a second time, with its files so named. */
export function toParts(text: string, first: Place): readonly Part[] {
  const parts: { place: Place; steps: Step[]; renames: Map<string, string> }[] = []
  const begin = (place: Place): void => {
    parts.push({ place, steps: [], renames: new Map() })
  }
  begin(first)
  const items = parsePage(text)
  for (const [at, item] of items.entries()) {
    const part = parts.at(-1)
    if (!part || item.kind === 'words') continue
    if (item.kind === 'fence') {
      part.steps.push(...toSteps(item, outputAfter(items, at)))
      for (const [from, to] of renamesOf(item)) part.renames.set(from, to)
    } else if (item.value === 'stop') part.steps.push({ kind: 'stop', line: item.line })
    else begin(placeOf(item))
  }
  return parts
    .filter(({ steps }) => steps.length > 0)
    .flatMap(({ place, steps, renames }) =>
      renames.size === 0
        ? [{ place, steps }]
        : [
            { place, steps },
            {
              place: 'typescript' as const,
              steps: steps.flatMap((step) => inTypeScript(step, renames)),
            },
          ],
    )
}

function placeOf({ name, value, line }: Mark): Place {
  const place = places.find((one) => name === 'follow' && value === `in ${one}`)
  if (place) return place
  throw new MarkError(line, `<!-- ${name}: ${value} --> stands above no block of code`)
}

function toSteps(fence: Fence, expected: readonly string[]): readonly Step[] {
  const { line, text } = fence
  const [name] = valuesOf(fence, 'file')
  if (name !== undefined) return [{ kind: 'save', line, name, text: `${text}\n` }]
  if (fence.language !== 'sh') return []
  const [mark = 'run', ...more] = valuesOf(fence, 'follow')
  if (more.length > 0) throw new MarkError(line, 'A block has one follow mark at most')
  if (mark.startsWith('skip ')) return [{ kind: 'skip', line, text, reason: mark.slice(5) }]
  if (mark === 'run' || mark === 'background' || mark === 'fails')
    return [{ kind: mark, line, text, expected }]
  throw new MarkError(line, `There is no mark <!-- follow: ${mark} -->`)
}

/** What the block must print: the next block, where that is `text` under the same heading. */
function outputAfter(items: readonly Item[], at: number): readonly string[] {
  for (const item of items.slice(at + 1)) {
    if (item.kind === 'words' && item.text.startsWith('#')) return []
    if (item.kind === 'fence') return item.language === 'text' ? item.text.split('\n') : []
  }
  return []
}

/** The name that a file has in TypeScript, where its block says one. */
function renamesOf(fence: Fence): readonly (readonly [string, string])[] {
  const [name] = valuesOf(fence, 'file')
  return valuesOf(fence, 'follow').flatMap((value) => {
    if (name === undefined || !value.startsWith('also ')) return []
    return [[name, value.slice(5)] as const]
  })
}

/** The step of a reader who writes TypeScript, and whose files are to fit the types too. */
function inTypeScript(step: Step, renames: ReadonlyMap<string, string>): readonly Step[] {
  if (step.kind === 'stop') return [step]
  if (step.kind === 'save') {
    const name = renames.get(step.name)
    if (name === undefined) return [step]
    return [
      { ...step, name },
      { kind: 'run', line: step.line, text: 'npx tsc', expected: [] },
    ]
  }
  let { text } = step
  for (const [from, to] of renames) text = text.replaceAll(`node ${from}`, `npx tsx ${to}`)
  return [{ ...step, text }]
}
