/**
 * Seed 003's program: a handler of the workshop that is extended, and tasks in a database of one's own that are still
 * there after a restart. Run: npx tsx examples/seeds/003.mts
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  A2AClient,
  A2AServer,
  DataPart,
  InvalidParamsError,
  Message,
  Role,
  type RunningServer,
  type SendMessageRequest,
  type ServerCallContext,
  type Task,
  type TaskFilter,
  TaskNotFoundError,
  TaskStore,
  WorkshopRequestHandler,
} from 'corral/compat'
import Database from 'libsql'

/** Tasks as rows of a SQLite file: any database with these five methods will do. */
class DatabaseTaskStore extends TaskStore {
  readonly #db: Database.Database

  constructor(file: string) {
    super()
    this.#db = new Database(file)
    this.#db.exec('CREATE TABLE IF NOT EXISTS tasks (id TEXT PRIMARY KEY, context TEXT, task TEXT)')
  }

  async create(task: Task): Promise<Task> {
    const insert = this.#db.prepare('INSERT INTO tasks VALUES (?, ?, ?)')
    insert.run(task.id, task.contextId, JSON.stringify(task))
    return task
  }

  async get(id: string): Promise<Task | null> {
    const [task] = this.#read('WHERE id = ?', id)
    return task ?? null
  }

  async update(task: Task): Promise<Task> {
    const update = this.#db.prepare('UPDATE tasks SET task = ? WHERE id = ?')
    if (update.run(JSON.stringify(task), task.id).changes === 0) throw new TaskNotFoundError()
    return task
  }

  async delete(id: string): Promise<boolean> {
    return this.#db.prepare('DELETE FROM tasks WHERE id = ?').run(id).changes > 0
  }

  async list({ contextId }: TaskFilter = {}): Promise<Task[]> {
    return contextId === undefined ? this.#read('') : this.#read('WHERE context = ?', contextId)
  }

  #read(where: string, ...values: string[]): Task[] {
    const rows = this.#db.prepare(`SELECT task FROM tasks ${where} ORDER BY rowid DESC`).all(values)
    return (rows as { task: string }[]).map(({ task }) => JSON.parse(task)) // the one column asked for
  }

  close(): void {
    this.#db.close()
  }
}

/** The workshop's handler, with a rule of its own. */
class ResearchRequestHandler extends WorkshopRequestHandler {
  override async onMessageSend(
    request: SendMessageRequest,
    context: ServerCallContext,
  ): Promise<Task | Message> {
    const [part] = request.message.parts
    if (!part || !('text' in part)) throw new InvalidParamsError('Ask in words, please')
    return super.onMessageSend(request, context)
  }
}

const researcher = { run: async (topic: string) => `Findings about ${topic}` }

async function start(store: TaskStore): Promise<RunningServer> {
  return new A2AServer(new ResearchRequestHandler(researcher, store))
    .bind('127.0.0.1:0')
    .run({ signals: false })
}

const folder = await mkdtemp(join(tmpdir(), 'workshop-'))
const file = join(folder, 'tasks.db')

const store = new DatabaseTaskStore(file)
const server = await start(store)
const client = new A2AClient(server.url)
const answer = await client.sendMessage('quantum computing')
assert('task' in answer)
const { id } = answer.task
assert.deepEqual(await store.get(id), answer.task)
const data = DataPart({ data: { depth: 'detailed' } })
await assert.rejects(
  client.sendMessage(Message({ role: Role.user, parts: [data] })),
  /Ask in words/,
)
await client.close()
await server.shutdown()
store.close()

const reopened = new DatabaseTaskStore(file)
const restarted = await start(reopened)
const later = new A2AClient(restarted.url)
const task = await later.getTask(id)
assert.deepEqual(task, answer.task)
assert.equal((await reopened.list()).length, 1)
console.log(`Task ${id} is ${task.status.state} after the restart`)
console.log(task.artifacts?.[0]?.parts[0])
await later.close()
await restarted.shutdown()
reopened.close()
await rm(folder, { recursive: true })
