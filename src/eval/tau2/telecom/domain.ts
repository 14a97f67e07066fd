import type { DomainKind } from '../kind.ts'
import { add, isLess } from '../python/arithmetic.ts'
import type { Self } from '../toolkit.ts'
import {
  billsAwaitingPayment,
  getBill,
  getCustomerByPhone,
  getLineByPhone,
  getPlan,
} from './lookup.ts'
import { telecomDatabase } from './models.ts'
import { editSurroundings, surroundingsOf } from './phone.ts'
import { telecomTools } from './tools.ts'
import { paymentRequestModel, telecomUserDatabase } from './user-models.ts'
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

/** Brings the user's surroundings in line with the agent's database, and a paid bill the other way. */
function syncTelecom(agent: Self, user: Self): void {
  const { phone_number } = surroundingsOf(user)
  if (phone_number === null) return
  const line = getLineByPhone(agent, phone_number).row
  const around = editSurroundings(user)
  around.line_active = line.status === 'Active'
  around.roaming_allowed = line.roaming_enabled
  const plan = getPlan(agent, line.plan_id)
  const limit = add(plan.data_limit_gb, line.data_refueling_gb)
  around.mobile_data_usage_exceeded = !isLess(line.data_used_gb, limit, '>=')
  if (around.payment_request?.paid) {
    getBill(agent, around.payment_request.bill_id).edit().status = 'Paid'
    around.payment_request = null
  }
  if (around.payment_request !== null) return
  const [bill] = billsAwaitingPayment(agent, getCustomerByPhone(agent, phone_number).row)
  if (bill)
    around.payment_request = paymentRequestModel.create({
      bill_id: bill.bill_id,
      amount_due: bill.total_due,
    })
}
