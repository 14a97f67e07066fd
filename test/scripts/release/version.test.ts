import { describe, expect, test } from 'vitest'
import { type Commit, isNoticed, parseCommit } from '../../../scripts/release/commits.ts'
import { isAfter, nextVersion, riseOf } from '../../../scripts/release/version.ts'

const folders = new Set(['engine', 'team'])

function commit(message: string): Commit {
  const found = parseCommit(message)
  if (!found) throw new Error(`${message} is not a commit of our form`)
  return found
}

describe('a commit', () => {
  test('is read from its first line', () => {
    expect(parseCommit('feat(team): close a team\n\nIt held on to its members.\n')).toEqual({
      type: 'feat',
      scope: 'team',
      subject: 'close a team',
      isBreaking: false,
    })
    expect(parseCommit('fix: say why')).toMatchObject({ type: 'fix', scope: undefined })
    expect(parseCommit("Merge branch 'points'")).toBeUndefined()
  })

  test('breaks by its mark, or by a line of its body', () => {
    expect(commit('feat(team)!: rename steps').isBreaking).toBe(true)
    expect(commit('fix(team): refuse it\n\nBREAKING CHANGE: it was taken').isBreaking).toBe(true)
    expect(
      commit('fix(team): refuse it\n\nThis is no BREAKING CHANGE: not at all').isBreaking,
    ).toBe(false)
  })

  test.each([
    ['feat(team): a', true],
    ['fix(engine): a', true],
    ['perf(engine): a', true],
    ['fix: a', true],
    ['refactor(team)!: a', true],
    ['refactor(team): a', false],
    ['test(team): a', false],
    ['docs: a', false],
    ['fix(examples): a', false],
    ['feat(bench)!: a', false],
  ])('%s is noticed by users: %s', (message, noticed) => {
    expect(isNoticed(commit(message), folders)).toBe(noticed)
  })
})

describe('the next version', () => {
  test.each([
    ['0.1.3', ['fix: a', 'perf: a'], '0.1.4'],
    ['0.1.3', ['fix: a', 'feat: b'], '0.2.0'],
    ['0.1.3', ['feat!: b'], '0.2.0'],
    ['1.4.2', ['fix: a'], '1.4.3'],
    ['1.4.2', ['feat: a', 'fix: b'], '1.5.0'],
    ['1.4.2', ['fix!: a', 'feat: b'], '2.0.0'],
  ])('of %s after %j is %s', (version, messages, next) => {
    const rise = riseOf(messages.map(commit))
    expect(rise && nextVersion(version, rise)).toBe(next)
  })

  test('is none where nothing is noticed, and of nothing but three numbers', () => {
    expect(riseOf([])).toBeUndefined()
    expect(() => nextVersion('1.0.0-rc.1', 'patch')).toThrow('not a version of three numbers')
  })

  test('comes after another by its numbers, not by its letters', () => {
    expect(isAfter('0.10.0', '0.9.9')).toBe(true)
    expect(isAfter('0.9.9', '0.10.0')).toBe(false)
    expect(isAfter('1.0.0', '1.0.0')).toBe(false)
  })
})
