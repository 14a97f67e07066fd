/**
 * CHANGELOG.md, as https://keepachangelog.com has it: a section for each version, the newest first, and above them
 * `## Unreleased`, which is written by hand while things change. Within a section `### Added` and its like.
 */
import type { Commit } from './commits.ts'

/** The headings within a section, in their order. */
const headings = ['Added', 'Changed', 'Fixed', 'Security'] as const

type Heading = (typeof headings)[number]

/** What a version is told under. */
export interface Edition {
  readonly version: string
  /** Year, month and day. */
  readonly date: string
  /** Commits that nobody has put into words yet. */
  readonly untold: readonly Commit[]
}

/** A changelog with a new version in it, and that version's section by itself. */
export interface Released {
  readonly text: string
  readonly section: string
}

/** Whether anything stands under `## Unreleased`. */
export function hasUnreleased(changelog: string): boolean {
  return split(changelog).body.trim() !== ''
}

/**
 * Turns what is unreleased into the section of a version. Commits that are not told yet follow as lines of their own.
 *
 * @throws Error where there is no `## Unreleased`, or the version is there already.
 */
export function release(changelog: string, { version, date, untold }: Edition): Released {
  if (changelog.includes(`\n## ${version} `)) throw new Error(`CHANGELOG.md has ${version} already`)
  const { before, body, after } = split(changelog)
  const section = `## ${version} – ${date}\n\n${addLines(body.trim(), untold)}\n`
  return { text: `${before}## Unreleased\n\n${section}${after && `\n${after}`}`, section }
}

function split(changelog: string): { before: string; body: string; after: string } {
  const head = '## Unreleased\n'
  const from = changelog.indexOf(head)
  if (from < 0) throw new Error('CHANGELOG.md has no section "## Unreleased"')
  const rest = changelog.slice(from + head.length)
  const next = rest.search(/^## /m)
  const [body, after] = next < 0 ? [rest, ''] : [rest.slice(0, next), rest.slice(next)]
  return { before: changelog.slice(0, from), body, after }
}

/** Adds a line for each commit at the end of its heading, and the headings that are missing. */
function addLines(body: string, commits: readonly Commit[]): string {
  const [intro = '', ...parts] = body.split(/^(?=### )/m)
  const texts = new Map(parts.map((part) => [nameOf(part), part.trim()]))
  for (const heading of headings) {
    const lines = commits.filter((commit) => headingOf(commit) === heading).map(toLine)
    if (lines.length === 0) continue
    texts.set(heading, [texts.get(heading) ?? `### ${heading}\n`, ...lines].join('\n'))
  }
  const known = headings.flatMap((heading) => texts.get(heading) ?? [])
  const others = [...texts].flatMap(([name, text]) => (isHeading(name) ? [] : [text]))
  return [intro.trim(), ...known, ...others].filter((text) => text !== '').join('\n\n')
}

function nameOf(part: string): string {
  return part.slice('### '.length).split('\n')[0]?.trim() ?? ''
}

function isHeading(name: string): boolean {
  return headings.some((heading) => heading === name)
}

function headingOf({ type, isBreaking }: Commit): Heading {
  if (isBreaking) return 'Changed'
  if (type === 'feat') return 'Added'
  return type === 'fix' ? 'Fixed' : 'Changed'
}

function toLine({ subject, scope, isBreaking }: Commit): string {
  const words = subject.charAt(0).toUpperCase() + subject.slice(1).replace(/\.$/, '')
  return `- ${isBreaking ? '**Breaking:** ' : ''}${words}${scope ? ` (${scope})` : ''}.`
}
