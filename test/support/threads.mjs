/**
 * What `scripts/threads.mjs` does, made quick for tests, which open hundreds of SQLite files: a thread that begins in a
 * TypeScript file runs the bundle that the run has made of it (`threads-setup.ts`) and needs no loader of its own.
 */
import { existsSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import threads from 'node:worker_threads'
import '../../scripts/threads.mjs'

const { CORRAL_TEST_THREAD: source, CORRAL_TEST_THREAD_BUNDLE: bundle } = process.env

if (source && bundle && existsSync(bundle)) {
  const { Worker } = threads
  threads.Worker = class extends Worker {
    constructor(file, options) {
      const isSource = file instanceof URL && fileURLToPath(file) === source
      super(isSource ? pathToFileURL(bundle) : file, options)
    }
  }
  syncBuiltinESMExports()
}
