/** What telecom's tools do to bills. tau2's today is 2025-02-25, so every date that follows from it is fixed. */
import { randomUUID } from 'node:crypto'
import { add } from '../python/arithmetic.ts'
import { valueError } from '../python/error.ts'
import type { Value } from '../python/value.ts'
import { isTruthy } from '../python/value.ts'
import type { Self } from '../toolkit.ts'
import { billsOf, type Found, getBill, getCustomer, getLine, getPlan } from './lookup.ts'
import { type Bill, billModel, type Customer, lineItemModel } from './models.ts'

/** The day on which everything happens. */
export const today = '2025-02-25'

/** The last day of today's month. */
export const cycleEnd = '2025-02-28'

const nextMonth = {
  period_start: '2025-03-01',
  period_end: '2025-03-31',
  issue_date: '2025-03-01',
  due_date: '2025-03-15',
}
const lastMonth = {
  period_start: '2025-01-01',
  period_end: '2025-01-31',
  issue_date: '2025-01-01',
  due_date: '2025-01-15',
}

/** Adds a charge to the customer's draft bill, which is made if there is none. */
export function charge(
  self: Self,
  customerId: Value,
  { amount, description }: { readonly amount: number; readonly description: string },
): void {
  const customer = getCustomer(self, customerId)
  const draft = customer.row.bill_ids
    .map((id) => getBill(self, id))
    .find(({ row }) => row.status === 'Draft')
  const bill = draft?.edit() ?? createDraft(self, customer, customerId)
  const item_type = amount < 0 ? 'Credit' : 'Charge'
  bill.line_items.push(lineItemModel.create({ description, amount, date: today, item_type }))
  bill.total_due = add(bill.total_due, amount)
}

function createDraft(self: Self, customer: Found<Customer>, customer_id: Value): Bill {
  const bill_id = `B${randomUUID().slice(0, 8)}`
  const values = { bill_id, customer_id, ...nextMonth, total_due: 0n, status: 'Draft' }
  const bill = billModel.create(values)
  const bills = billsOf(self)
  bills.put(bills.size(), bill)
  customer.edit().bill_ids.push(bill_id)
  return bill
}

/** Suspends a line, with a bill of last month that was not paid. */
export function suspendForOverdueBill(
  self: Self,
  args: { readonly [K in 'customer_id' | 'line_id' | 'new_bill_id' | 'contract_ended']: Value },
): void {
  const { customer_id, line_id, new_bill_id: bill_id, contract_ended } = args
  const line = getLine(self, line_id)
  if (line.row.status !== 'Active')
    throw valueError('Line must be active to suspend for unpaid bill')
  const { price_per_month: amount } = getPlan(self, line.row.plan_id)
  if (amount <= 0) throw valueError('Amount must be positive for overdue bill')
  const customer = getCustomer(self, customer_id)
  if (customer.row.bill_ids.some((id) => getBill(self, id).row.status === 'Overdue'))
    throw valueError('Customer already has an overdue bill')
  const bill = billModel.create({
    bill_id,
    customer_id,
    ...lastMonth,
    total_due: 0n,
    status: 'Overdue',
  })
  const description = `Charge for line ${line.row.line_id}`
  bill.line_items.push(
    lineItemModel.create({ description, amount, date: today, item_type: 'Charge' }),
  )
  bill.total_due = add(bill.total_due, amount)
  const bills = billsOf(self)
  bills.put(bills.size(), bill)
  customer.edit().bill_ids.push(bill.bill_id)
  const own = line.edit()
  own.status = 'Suspended'
  own.suspension_start_date = today
  if (isTruthy(contract_ended)) own.contract_end_date = lastMonth.period_end
}
