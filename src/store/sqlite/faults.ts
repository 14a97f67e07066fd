import { A2AError } from '../../protocol/errors.ts'

/** An error of SQLite as it crosses from the writing thread. */
export interface SqliteFault {
  /** SQLite's primary result code; 0 where the error is not SQLite's. */
  readonly code: number
  readonly message: string
}

/** SQLite's primary result codes that a person can do something about (sqlite.org/rescode.html). */
const reasons: Readonly<Record<number, string>> = {
  5: 'the file is locked by another program',
  8: 'the file is read-only',
  10: 'the disk reported an error',
  11: 'the file is damaged',
  13: 'the disk is full',
  14: 'the file cannot be opened',
  26: 'the file is not a database',
}

/** The code of faults that are ours and may be told to everyone; SQLite has none that is so high. */
const ours = 255

/** A fault of the file that SQLite does not notice. */
export function fileFault(message: string): Error {
  return Object.assign(new Error(message), { errcode: ours })
}

/** Whether a fault of SQLite says that the file is damaged, which does not pass. */
export function isDamage({ code }: SqliteFault): boolean {
  return code === 11 || code === 26
}

/** Whether a check found something, and did not merely fail to run. */
export function isFinding(fault: SqliteFault): boolean {
  return fault.code === ours || isDamage(fault)
}

/** What a thrown value says. Extended codes keep the primary one in the low byte. */
export function toFault(thrown: unknown): SqliteFault {
  if (!(thrown instanceof Error)) return { code: 0, message: String(thrown) }
  return { code: codeOf(thrown) & 0xff, message: thrown.message }
}

/** node:sqlite has the code in `errcode`, libsql in `rawCode`; a failed open of libsql has it in its words alone. */
function codeOf(error: Error): number {
  const { errcode, rawCode } = error as { errcode?: unknown; rawCode?: unknown } // absent on other errors
  const [, inWords] = /^ConnectionFailed\(.*: (\d+)"\)$/.exec(error.message) ?? []
  const code = errcode ?? rawCode ?? Number(inWords ?? 0)
  return typeof code === 'number' ? code : 0
}

/** Why, for a person; never with a path in it unless the fault is ours and says so. */
export function reasonOf(fault: SqliteFault): string {
  return reasons[fault.code] ?? fault.message
}

/** A failed read, write or backup as callers see it. A peer learns that the store fails, not how. */
export function toStoreError(
  doing: 'read' | 'write' | 'be backed up',
  fault: SqliteFault,
): A2AError {
  const known = fault.code === ours ? fault.message : reasons[fault.code]
  return new A2AError(
    known ? 'unavailable' : 'internal',
    `The task store cannot ${doing}${known ? `: ${known}` : ''}`,
    { cause: new Error(fault.message) },
  )
}

/** A store that could not be opened; for the person who starts the server. */
export function toOpenError(path: string, fault: SqliteFault): A2AError {
  return new A2AError('unavailable', `Cannot open the task store ${path}: ${reasonOf(fault)}`, {
    cause: new Error(fault.message),
  })
}
