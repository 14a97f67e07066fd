/** A commit's first line, `fix(engine)!: say why`, in its parts. */
export interface Commit {
  readonly type: string
  /** The folder that it is about. */
  readonly scope: string | undefined
  readonly subject: string
  /** Whether users have to change something. */
  readonly isBreaking: boolean
}

/** Reads a commit's message; undefined where it does not have our form, as merges. */
export function parseCommit(message: string): Commit | undefined {
  const [head = '', ...body] = message.trim().split('\n')
  const [, type, scope, mark, subject] = /^([a-z]+)(?:\(([^)]+)\))?(!?): (.+)$/.exec(head) ?? []
  if (type === undefined || subject === undefined) return undefined
  const isBreaking = mark === '!' || body.some((line) => /^BREAKING[ -]CHANGE: /.test(line))
  return { type, scope, subject, isBreaking }
}

/** Whether a user of the package notices: a feature, a fix or more speed in one of the source folders. */
export function isNoticed(
  { type, scope, isBreaking }: Commit,
  folders: ReadonlySet<string>,
): boolean {
  if (scope !== undefined && !folders.has(scope)) return false
  return isBreaking || type === 'feat' || type === 'fix' || type === 'perf'
}
