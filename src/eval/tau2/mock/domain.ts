import { type DomainKind, plainPolicy } from '../kind.ts'
import { mockDatabase, mockUserDatabase } from './models.ts'
import { mockTools } from './tools.ts'
import { mockUserTools } from './user-tools.ts'

/** tau2's mock domain: tasks of a user, and an inbox on the user's side. */
export const mockKind: DomainKind = {
  name: 'mock',
  folder: 'mock',
  policy: plainPolicy,
  agent: { toolkit: mockTools, database: mockDatabase, file: 'db.json' },
  user: { toolkit: mockUserTools, database: mockUserDatabase, file: 'user_db.json' },
}
