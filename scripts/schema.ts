/**
 * Writes what is made of the configuration's keys: the JSON Schema for editors, and the tables of docs/configuration.md.
 * `test/docs/configuration.test.ts` checks that both are current. `npm run schema` also formats the first.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toConfigJsonSchema } from '../src/app/config/load.ts'
import { fillKeys } from './configuration/page.ts'
import type { KeySchema } from './configuration/tables.ts'

const root = join(import.meta.dirname, '..')
const schema = toConfigJsonSchema()
// It is deep: with two spaces a quarter of the file would be indentation, and it is in the package.
writeFileSync(join(root, 'schema/corral.schema.json'), `${JSON.stringify(schema, null, 1)}\n`)
// What zod makes is a JSON Schema.
const page = join(root, 'docs/configuration.md')
writeFileSync(page, fillKeys(readFileSync(page, 'utf8'), schema as KeySchema))
