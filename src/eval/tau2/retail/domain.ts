import { type DomainKind, plainPolicy } from '../kind.ts'
import { retailDatabase } from './models.ts'
import { retailTools } from './tools.ts'

/** tau2's retail domain: orders of a shop that are cancelled, changed, exchanged and returned. */
export const retailKind: DomainKind = {
  name: 'retail',
  folder: 'retail',
  policy: plainPolicy,
  agent: { toolkit: retailTools, database: retailDatabase, file: 'db.json' },
}
