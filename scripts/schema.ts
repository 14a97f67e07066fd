/**
 * Writes the JSON Schema of configuration files, for editors; `test/team/schema.test.ts` checks that it is current.
 * Format it afterwards: `npx biome check --write schema`.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toConfigJsonSchema } from '../src/app/config/file.ts'

const path = join(import.meta.dirname, '..', 'schema', 'corral.schema.json')
writeFileSync(path, `${JSON.stringify(toConfigJsonSchema(), null, 2)}\n`)
