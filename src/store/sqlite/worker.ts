import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { backUp } from './backup.ts'
import { toFault } from './faults.ts'
import { type OpenOptions, openWritable } from './open.ts'
import { contextIndex } from './schema.ts'
import type { Answer, Request, ThreadTask } from './thread.ts'
import { createTrim } from './trim.ts'
import { createWriter } from './writer.ts'

/**
 * The thread that owns the writing connection, so that a sync to disk never holds up the event loop. It answers
 * requests one by one, in order; its first answer says whether the file is open.
 */
const port: MessagePort | null = parentPort
if (port) await main(port, workerData as ThreadTask) // what thread.ts passes

async function main(port: MessagePort, task: ThreadTask): Promise<void> {
  try {
    if (task.type === 'backup') await backUp(task)
    else await serve(port, task.options)
    port.postMessage({ ok: undefined } satisfies Answer)
  } catch (error) {
    port.postMessage({ fault: toFault(error) } satisfies Answer)
  }
}

async function serve(port: MessagePort, options: OpenOptions): Promise<void> {
  const file = await openWritable(options)
  const writer = createWriter(file.db)
  const trim = createTrim(file.db)
  const handle = (request: Request): unknown => {
    switch (request.type) {
      case 'commit':
        return writer.commit(request.rows)
      case 'trim':
        return trim(request)
      case 'probe':
        return writer.probe()
      case 'indexContexts':
        return file.db.exec(contextIndex)
      case 'close':
        return file.close()
    }
  }
  port.on('message', (request: Request) => {
    try {
      port.postMessage({ ok: handle(request) } satisfies Answer)
    } catch (error) {
      port.postMessage({ fault: toFault(error) } satisfies Answer)
    }
    if (request.type === 'close') port.close()
  })
}
