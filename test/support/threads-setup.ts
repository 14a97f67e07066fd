import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('../..', import.meta.url))
const source = join(root, 'src/store/sqlite/worker.ts')
/** Below `node_modules`, where the driver that it imports is found. */
const bundle = join(root, `node_modules/.cache/corral-tests/${process.pid}/worker.mjs`)

/** Makes the bundle that threads of the SQLite store run, see `threads.mjs`. */
export async function setup(): Promise<void> {
  const build = await rolldown({ input: source, platform: 'node', external: /^[^./]/ })
  try {
    await mkdir(dirname(bundle), { recursive: true })
    await build.write({ file: bundle, format: 'esm' })
  } finally {
    await build.close()
  }
  process.env.CORRAL_TEST_THREAD = source
  process.env.CORRAL_TEST_THREAD_BUNDLE = bundle
}

/** Takes it away. */
export async function teardown(): Promise<void> {
  await rm(dirname(bundle), { recursive: true, force: true })
}
