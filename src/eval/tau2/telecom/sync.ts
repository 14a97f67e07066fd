import { add, isLess } from '../python/arithmetic.ts'
import type { Self } from '../toolkit.ts'
import {
  billsAwaitingPayment,
  getBill,
  getCustomerByPhone,
  getLineByPhone,
  getPlan,
} from './lookup.ts'
import { editSurroundings, surroundingsOf } from './phone.ts'
import { paymentRequestModel } from './user-models.ts'

/** Brings the user's surroundings in line with the agent's database, and a paid bill the other way. */
export function syncTelecom(agent: Self, user: Self): void {
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
