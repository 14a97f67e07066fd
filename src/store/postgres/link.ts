import {
  connectDatabase,
  type DatabaseConnection,
  type DatabaseConnectionOptions,
  type DatabaseRow,
  type SqlStatement,
} from './connection.ts'
import { isBroken } from './faults.ts'

/** A connection that is made when it is first used, and anew after it broke. It takes one statement at a time. */
export class DatabaseLink {
  readonly #options: DatabaseConnectionOptions
  #connection: Promise<DatabaseConnection> | undefined
  #closed = false

  constructor(options: DatabaseConnectionOptions) {
    this.#options = options
  }

  /** Runs a statement. Rejects with the driver's error; where that means a broken connection, the next begins with a new one. */
  async query(statement: SqlStatement): Promise<readonly DatabaseRow[]> {
    if (this.#closed) throw new Error('The connection is closed')
    this.#connection ??= connectDatabase(this.#options)
    const opening = this.#connection
    try {
      return await (await opening).query(statement)
    } catch (error) {
      if (isBroken(error) && this.#connection === opening) await this.#drop(opening)
      throw error
    }
  }

  /** Forgets the connection, so that the next statement begins with a new one. */
  async reset(): Promise<void> {
    if (this.#connection) await this.#drop(this.#connection)
  }

  async close(): Promise<void> {
    this.#closed = true
    const connection = await this.#connection?.catch(() => undefined)
    await connection?.close()
  }

  async #drop(opening: Promise<DatabaseConnection>): Promise<void> {
    this.#connection = undefined
    const connection = await opening.catch(() => undefined)
    connection?.destroy()
  }
}
