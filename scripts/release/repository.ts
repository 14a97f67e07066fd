import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Commit, isNoticed, parseCommit } from './commits.ts'

/** What the history says about the next version. */
export interface History {
  readonly branch: string
  /** Files that differ from the last commit. */
  readonly changed: readonly string[]
  /** The version of the last tag; undefined before the first. */
  readonly last: string | undefined
  /** Commits since then that users notice. */
  readonly noticed: readonly Commit[]
  /** Of them those that came after the last edit of CHANGELOG.md: who edits it has told what was there. */
  readonly untold: readonly Commit[]
}

/** Reads the history of the repository in a folder. */
export function readHistory(root: string): History {
  const git = (...args: readonly string[]): string => runGit(root, args)
  const folders = new Set(
    readdirSync(join(root, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name),
  )
  const noticedIn = (...range: readonly string[]): readonly Commit[] =>
    git('log', '--no-merges', '--format=%B%x00', 'HEAD', ...range)
      .split('\0')
      .flatMap((message) => parseCommit(message) ?? [])
      .filter((commit) => isNoticed(commit, folders))
  const tag = git('tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname').split(
    '\n',
  )[0]
  const edit = git('log', '-1', '--format=%H', '--', 'CHANGELOG.md')
  const since = tag ? [`^${tag}`] : []
  return {
    branch: git('branch', '--show-current'),
    changed: git('status', '--porcelain').split('\n').filter(Boolean),
    last: tag ? tag.slice(1) : undefined,
    noticed: noticedIn(...since),
    untold: noticedIn(...since, ...(edit ? [`^${edit}`] : [])),
  }
}

/** Runs git and gives what it prints. */
export function runGit(root: string, args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 }).trimEnd()
}
