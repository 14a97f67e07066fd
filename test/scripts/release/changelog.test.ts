import { expect, test } from 'vitest'
import { hasUnreleased, release } from '../../../scripts/release/changelog.ts'
import { parseCommit } from '../../../scripts/release/commits.ts'

const edited = `# Changelog

## Unreleased

Faster starts.

### Added

- A team may rest.

### Fixed

- A rest ends.

## 0.1.0 – 2026-01-01

The first version.
`

const untold = [
  'fix(team): wake whoever sleeps',
  'feat(engine)!: count from 1',
  'perf: run',
].flatMap((message) => parseCommit(message) ?? [])

test('what is unreleased becomes the section of the version, and the next begins empty', () => {
  const { text, section } = release(edited, { version: '0.2.0', date: '2026-02-03', untold: [] })
  expect(text).toBe(edited.replace('## Unreleased\n', '## Unreleased\n\n## 0.2.0 – 2026-02-03\n'))
  expect(text).toContain(section)
  expect(hasUnreleased(edited)).toBe(true)
  expect(hasUnreleased(text)).toBe(false)
})

test('commits that nobody told follow under their heading', () => {
  const { section } = release(edited, { version: '0.2.0', date: '2026-02-03', untold })
  expect(section).toBe(`## 0.2.0 – 2026-02-03

Faster starts.

### Added

- A team may rest.

### Changed

- **Breaking:** Count from 1 (engine).
- Run.

### Fixed

- A rest ends.
- Wake whoever sleeps (team).
`)
})

test('an empty section is made of commits alone, also where no version came before', () => {
  const { text } = release('# Changelog\n\n## Unreleased\n', {
    version: '0.1.0',
    date: '2026-01-01',
    untold: untold.slice(0, 1),
  })
  expect(text).toBe(`# Changelog

## Unreleased

## 0.1.0 – 2026-01-01

### Fixed

- Wake whoever sleeps (team).
`)
})

test('a version that is told already, and a page without the section, are refused', () => {
  const edition = { version: '0.1.0', date: '2026-01-01', untold: [] }
  expect(() => release(edited, edition)).toThrow('CHANGELOG.md has 0.1.0 already')
  expect(() => release('# Changelog\n', edition)).toThrow('no section "## Unreleased"')
})
