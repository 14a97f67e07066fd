import type { Connection } from './driver.ts'

/** Runs work in a transaction that takes the write lock at once. */
export function createTransaction(db: Connection): <T>(work: () => T) => T {
  const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')]
  return (work) => {
    begin.run()
    try {
      const result = work()
      commit.run()
      return result
    } catch (error) {
      rollback(db)
      throw error
    }
  }
}

/** SQLite rolls back by itself after some errors (a full disk); a second time is then itself an error. */
function rollback(db: Connection): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // The transaction is gone, which is what was wanted; the first error is the one to report.
  }
}
