/**
 * For what runs the sources on a Node that cannot read TypeScript (`node --import ./scripts/threads.mjs`): threads that
 * begin in a TypeScript file get the loader that the main thread already has. A thread inherits this option.
 */
import { isMainThread } from 'node:worker_threads'

const [, entry = ''] = process.argv
if (!isMainThread && entry.endsWith('.ts') && !process.features.typescript) {
  const { register } = await import('tsx/esm/api')
  register()
}
