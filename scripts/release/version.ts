import type { Commit } from './commits.ts'

/** How much a version rises. */
export type Rise = 'major' | 'minor' | 'patch'

/** What commits ask for; undefined where none of them is noticed. */
export function riseOf(commits: readonly Commit[]): Rise | undefined {
  if (commits.some(({ isBreaking }) => isBreaking)) return 'major'
  if (commits.some(({ type }) => type === 'feat')) return 'minor'
  return commits.length > 0 ? 'patch' : undefined
}

/**
 * The version after another. Below 1.0.0 what breaks raises the minor number: that is how npm reads `^0.2.0`, and 1.0.0
 * is somebody's decision, not a commit's.
 *
 * @throws Error where the version is not three numbers.
 */
export function nextVersion(version: string, rise: Rise): string {
  const { major, minor, patch } = parseVersion(version)
  if (rise === 'major' && major > 0) return `${major + 1}.0.0`
  if (rise !== 'patch') return `${major}.${minor + 1}.0`
  return `${major}.${minor}.${patch + 1}`
}

/** Whether a version comes after another. */
export function isAfter(version: string, other: string): boolean {
  const [one, two] = [parseVersion(version), parseVersion(other)]
  const difference = one.major - two.major || one.minor - two.minor || one.patch - two.patch
  return difference > 0
}

function parseVersion(version: string): { major: number; minor: number; patch: number } {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)$/.exec(version) ?? []
  if (patch === undefined) throw new Error(`${version} is not a version of three numbers`)
  return { major: Number(major), minor: Number(minor), patch: Number(patch) }
}
