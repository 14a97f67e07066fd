import type { Answer } from './wire.ts'

/** Something that the two builds did differently. */
export interface Difference {
  readonly area: string
  /** What was asked, as far as it helps to ask it again. */
  readonly asked: string
  readonly before: string
  readonly after: string
}

/** What was compared in one area. */
export interface AreaCount {
  cases: number
  requests: number
  bytes: number
  differences: number
}

/** Both sides of something: of the other build first, then of this one. */
export type Pair<T> = readonly [before: T, after: T]

/** Counts what is compared and remembers what differs. Ids are those of one pair of servers at a time. */
export class Ledger {
  readonly counts: Map<string, AreaCount>
  readonly differences: Difference[]
  /** Whether times and lengths of bodies are left out: PostgreSQL has a clock of its own. */
  withoutTimes = false
  #names: Pair<Names> = [new Names(), new Names()]

  constructor(counts = new Map<string, AreaCount>(), differences: Difference[] = []) {
    this.counts = counts
    this.differences = differences
  }

  /** The same counts with ids of its own: for servers that run beside others. */
  fork(): Ledger {
    return new Ledger(this.counts, this.differences)
  }

  /** Each side goes on with the ids of the other: the stores were exchanged. */
  swap(): void {
    this.#names = [this.#names[1], this.#names[0]]
  }

  /** The counts of an area. */
  of(area: string): AreaCount {
    const known = this.counts.get(area)
    if (known) return known
    const fresh = { cases: 0, requests: 0, bytes: 0, differences: 0 }
    this.counts.set(area, fresh)
    return fresh
  }

  /** Forgets all ids: what follows comes from other stores, and from servers at these ports. */
  begin(ports: Pair<number>): void {
    this.#names = [new Names(ports[0]), new Names(ports[1])]
  }

  /** Goes on with the same ids at other ports: the servers were started again. */
  move(ports: Pair<number>): void {
    this.#names[0].ports.push(ports[0])
    this.#names[1].ports.push(ports[1])
  }

  /** Compares two answers to one request. */
  compareAnswers(area: string, asked: string, [before, after]: Pair<Answer>): void {
    this.of(area).requests++
    this.compare(area, asked, [toText(before), toText(after)])
  }

  /** Compares two texts, ids replaced by the order in which they appeared. */
  compare(area: string, asked: string, [before, after]: Pair<string>): void {
    const count = this.of(area)
    count.bytes += before.length
    const shown = this.withoutTimes ? withoutTimes : (text: string): string => text
    const left = shown(this.#names[0].replace(before))
    const right = shown(this.#names[1].replace(after))
    if (left === right) return
    count.differences++
    this.differences.push({ area, asked, before: left, after: right })
  }

  /** A text of the generator with ids by number, as each side knows them. */
  fill(template: string): Pair<string> {
    return [this.#names[0].fill(template), this.#names[1].fill(template)]
  }

  /** A text of this build's answer, as the generator may use it in later requests: ids by their numbers. */
  toTemplate(text: string): string {
    return this.#names[1].replace(text)
  }
}

/**
 * What builds make up: cursors of the console, ids (8-4-4-4-12), page tokens, and names of receivers (24 random bytes in
 * base64url).
 */
const generated =
  /(?<="next":")[^"]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<="nextPageToken":")[A-Za-z0-9_-]{20,}|(?<=receiver\/)[A-Za-z0-9_-]{32}/g
const numbered = /⟦(\d+)⟧/g

/** The ids that one side has shown, by the order of their first appearance. */
class Names {
  readonly #numbers = new Map<string, number>()
  readonly #texts: string[] = []
  /** The ports that the side's server has had, the last one now; requests and answers call them `⟦port⟧`. */
  readonly ports: number[]

  constructor(...ports: number[]) {
    this.ports = ports
  }

  replace(text: string): string {
    let ported = text
    for (const port of this.ports)
      ported = ported.replace(new RegExp(`(?<!\\d)${port}(?!\\d)`, 'g'), '⟦port⟧')
    return ported.replace(generated, (id) => {
      const known = this.#numbers.get(id)
      if (known !== undefined) return `⟦${known}⟧`
      this.#numbers.set(id, this.#texts.length)
      return `⟦${this.#texts.push(id) - 1}⟧`
    })
  }

  fill(template: string): string {
    const ported = template.replaceAll('⟦port⟧', String(this.ports.at(-1)))
    return ported.replace(numbered, (whole, number: string) => this.#texts[Number(number)] ?? whole)
  }
}

/** Times, ports and what a `Date` header says differ between any two runs. */
function toText({ head, body, whole }: Answer): string {
  const shown = head.replace(/^(Date|date): .*$/m, '$1: …')
  return `${shown}\n\n${body}${whole ? '' : '\n(cut off)'}`
}

function withoutTimes(text: string): string {
  return text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '⟦time⟧')
    .replace(/("[a-zA-Z0-9]*(?:Ms|Seconds|created)":)[\d.]+/g, '$1⟦duration⟧')
    .replace(/^content-length: \d+$/gm, 'content-length: …')
}

/** The lines in which two texts differ, with the lines around the first of them. */
export function toDiff(before: string, after: string): string {
  const [left, right] = [toLines(before), toLines(after)]
  let same = 0
  while (same < left.length && left[same] === right[same]) same++
  let tail = 0
  const shortest = Math.min(left.length, right.length) - same
  while (tail < shortest && left.at(-1 - tail) === right.at(-1 - tail)) tail++
  const context = left.slice(Math.max(0, same - 3), same).map((line) => `    ${line}`)
  const removed = left.slice(same, left.length - tail).map((line) => `  - ${line}`)
  const added = right.slice(same, right.length - tail).map((line) => `  + ${line}`)
  return [...context, ...removed.slice(0, 12), ...added.slice(0, 12)].join('\n')
}

/** Long lines of JSON are cut at their members, so that a difference is seen where it is. */
function toLines(text: string): readonly string[] {
  return text
    .replace(/,"/g, ',\n"')
    .split('\n')
    .map((line) => (line.length > 2_000 ? `${line.slice(0, 2_000)}…` : line))
}
