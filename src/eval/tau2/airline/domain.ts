import { type DomainKind, plainPolicy } from '../kind.ts'
import { airlineDatabase } from './models.ts'
import { airlineTools } from './tools.ts'

/** tau2's airline domain: reservations that are booked, changed and cancelled. */
export const airlineKind: DomainKind = {
  name: 'airline',
  folder: 'airline',
  policy: plainPolicy,
  agent: { toolkit: airlineTools, database: airlineDatabase, file: 'db.json' },
}
