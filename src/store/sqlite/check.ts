import { type Connection, openConnection } from './driver.ts'
import { fileFault } from './faults.ts'
import type { FileRequest } from './thread.ts'

/**
 * Reads a whole file and looks whether it is sound, table by table, while others write it.
 * @throws Error that says what is damaged.
 */
export async function checkFile({ path, driver }: FileRequest): Promise<void> {
  const db = await openConnection(path, driver)
  try {
    db.exec('PRAGMA query_only = ON')
    checkAll(db)
  } finally {
    db.close()
  }
}

/**
 * Checks every table and its indexes.
 * @throws Error that says what is damaged.
 */
export function checkAll(db: Connection): void {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  for (const { name } of tables) {
    const [row] = db.prepare(`PRAGMA quick_check("${String(name)}")`).all()
    const found = String(row?.quick_check)
    if (found !== 'ok') throw fileFault(`the file is damaged (${found}); restore a backup`)
  }
}
