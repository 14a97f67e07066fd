/** What `npm run build` does after the compiler: the console's page, and what of `dist` is packed. */
import { join } from 'node:path'
import { ignoreUnreached, removeStale, stripComments } from './package/dist.ts'
import { buildPage } from './page.ts'

const root = join(import.meta.dirname, '..')

removeStale(root)
stripComments(root)
ignoreUnreached(root)
await buildPage(root)
