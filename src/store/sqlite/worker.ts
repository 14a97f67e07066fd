import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { createPrepared, type FileRequest, openReading, toFault } from './driver.ts'
import { checkFile, type OpenOptions, openWritable } from './open.ts'
import { Spans } from './spans.ts'
import {
  backUp,
  type Request,
  type ThreadAnswer,
  type ThreadProgress,
  type ThreadTask,
  type WriterState,
} from './thread.ts'
import { createRemove, createTrim } from './trim.ts'
import { createWriter } from './writer.ts'

/**
 * A thread with a connection of its own, so that a sync to disk or a long read never holds up the event loop. It answers
 * requests one by one, in order; its first answer says whether the file is open, or the one thing done that it is for.
 */
const port: MessagePort | null = parentPort
// Node 22 warns that its SQLite is experimental; once, by the reading connection, is enough.
if (port) process.removeAllListeners('warning')
if (port) await main(port, workerData as ThreadTask) // what thread.ts passes

async function main(port: MessagePort, task: ThreadTask): Promise<void> {
  try {
    port.postMessage({ ok: await begin(port, task) } satisfies ThreadAnswer)
  } catch (error) {
    port.postMessage({ fault: toFault(error) } satisfies ThreadAnswer)
  }
}

async function begin(port: MessagePort, task: ThreadTask): Promise<unknown> {
  switch (task.type) {
    case 'backup':
      return backUp(task)
    case 'check':
      return check(port, task)
    case 'read':
      return read(port, task)
    case 'write':
      return write(port, task.options)
  }
}

/** Checks a file until it is asked to stop. */
async function check(port: MessagePort, file: FileRequest): Promise<void> {
  let isStopped = false
  port.once('message', () => {
    isStopped = true
  })
  // The check keeps the thread alive, not the wait for a message.
  port.unref()
  await checkFile(file, () => isStopped)
}

async function write(port: MessagePort, options: OpenOptions): Promise<WriterState> {
  const file = await openWritable(options, (progress) =>
    port.postMessage({ progress } satisfies ThreadProgress),
  )
  const spans = new Spans(file.db)
  const remove = createRemove(file.db, spans)
  const writer = createWriter(file.db, { remove, spans })
  const trim = createTrim(file.db, { remove, spans })
  const handle = (request: Request): unknown => {
    switch (request.type) {
      case 'commit': {
        const results = writer.commit(request.rows)
        // After the commit: what is answered was in the file that stands at the path.
        file.mustBeThere()
        return results
      }
      case 'trim':
        return file.withoutSync(() => trim(request))
      case 'probe':
        file.mustBeThere()
        return writer.probe()
      case 'close':
        return file.close()
      default:
        throw new Error(`A writing thread cannot ${request.type}`)
    }
  }
  answer(port, (request) => {
    try {
      return handle(request)
    } catch (error) {
      throw file.explain(error)
    }
  })
  return { checked: file.checked }
}

async function read(port: MessagePort, { path, driver }: FileRequest): Promise<void> {
  const db = await openReading(path, driver, 1_000)
  const prepared = createPrepared(db)
  answer(port, (request) => {
    if (request.type === 'query') return prepared(request.sql).all(...request.values)
    if (request.type === 'close') return db.close()
    throw new Error(`A reading thread cannot ${request.type}`)
  })
}

function answer(port: MessagePort, handle: (request: Request) => unknown): void {
  port.on('message', (request: Request) => {
    try {
      port.postMessage({ ok: handle(request) } satisfies ThreadAnswer)
    } catch (error) {
      port.postMessage({ fault: toFault(error) } satisfies ThreadAnswer)
    }
    if (request.type === 'close') port.close()
  })
}
