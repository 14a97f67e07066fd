import type { DomainKind } from '../kind.ts'
import { telecomDatabase } from './models.ts'
import { syncTelecom } from './sync.ts'
import { telecomTools } from './tools.ts'
import { telecomUserDatabase } from './user-models.ts'
import { telecomUserTools } from './user-tools.ts'

/** tau2's telecom domain: agent and user repair a phone together, each with their own tools. */
export const telecomKind: DomainKind = {
  name: 'telecom',
  folder: 'telecom',
  policy: { files: ['main_policy.md', 'tech_support_manual.md'], compose },
  agent: { toolkit: telecomTools, database: telecomDatabase, file: 'db.toml' },
  user: { toolkit: telecomUserTools, database: telecomUserDatabase, file: 'user_db.toml' },
  sync: syncTelecom,
}

/** The same domain with the other policy, which tells what to do step by step. */
export const telecomWorkflowKind: DomainKind = {
  ...telecomKind,
  name: 'telecom-workflow',
  policy: { files: ['main_policy.md', 'tech_support_workflow.md'], compose },
}

function compose([main = '', support = '']: readonly string[]): string {
  const rest = `<tech_support_policy>\n${support}\n</tech_support_policy>`
  return `<main_policy>\n${main}\n</main_policy>\n${rest}`
}
