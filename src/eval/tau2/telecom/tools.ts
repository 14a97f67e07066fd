import { add, isLess, multiply, subtract, toFloat } from '../python/arithmetic.ts'
import { compareText } from '../python/dumps.ts'
import { typeError, valueError } from '../python/error.ts'
import { toFixed } from '../python/float.ts'
import { lower, needText } from '../python/methods.ts'
import { str } from '../python/text.ts'
import { equals, toNumber, type Value } from '../python/value.ts'
import type { SharedRow } from '../state/table.ts'
import { defineToolkit, method, type Self, type Toolkit } from '../toolkit.ts'
import { charge, cycleEnd, suspendForOverdueBill, today } from './billing.ts'
import {
  billsAwaitingPayment,
  customersOf,
  getBill,
  getCustomer,
  getCustomerByPhone,
  getDevice,
  getLine,
  getOwnLine,
  getPlan,
} from './lookup.ts'
import type { Bill, Plan } from './models.ts'
import { telecomWords } from './words.ts'

/** The agent's tools of the telecom domain. */
export const telecomTools: Toolkit = defineToolkit({
  name: 'TelecomTools',
  words: telecomWords,
  tools: {
    get_customer_by_phone: (self, { phone_number }) => getCustomerByPhone(self, phone_number).row,
    get_customer_by_id: (self, { customer_id }) => getCustomer(self, customer_id).row,
    get_customer_by_name: (self, { full_name, dob }) =>
      [...customersOf(self).values()].filter(
        (one) => one.full_name.toLowerCase() === lower(full_name) && equals(one.date_of_birth, dob),
      ),
    get_details_by_id: (self, { id }) => getDetails(self, id),
    suspend_line(self, { customer_id, line_id }) {
      const line = getOwnLine(self, customer_id, line_id)
      if (line.row.status !== 'Active') throw valueError('Line must be active to suspend')
      const own = Object.assign(line.edit(), { status: 'Suspended', suspension_start_date: today })
      return answer('Line suspended successfully. $5/month holding fee will apply.', own)
    },
    resume_line(self, { customer_id, line_id }) {
      const line = getOwnLine(self, customer_id, line_id)
      if (line.row.status !== 'Suspended' && line.row.status !== 'Pending Activation')
        throw valueError('Line must be suspended to resume')
      const own = Object.assign(line.edit(), { status: 'Active', suspension_start_date: null })
      return answer('Line resumed successfully', own)
    },
    get_bills_for_customer(self, { customer_id, limit }) {
      const { bill_ids } = getCustomer(self, customer_id).row
      const bills = bill_ids.map((id) => getBill(self, id).row)
      return bills.sort(byNewest).slice(0, sliceEnd(limit))
    },
    send_payment_request(self, { customer_id, bill_id }) {
      const customer = getCustomer(self, customer_id).row
      if (billsAwaitingPayment(self, customer).length > 0)
        throw valueError('A bill is already awaiting payment for this customer')
      if (!customer.bill_ids.some((id) => equals(id, bill_id)))
        throw valueError(`Bill ${str(bill_id)} not found for customer ${str(customer_id)}`)
      const bill = getBill(self, bill_id).edit()
      bill.status = 'Awaiting Payment'
      return `Payment request sent to the customer for bill ${bill.bill_id}`
    },
    get_data_usage(self, { customer_id, line_id }) {
      const { row } = getOwnLine(self, customer_id, line_id)
      return new Map<string, Value>([
        ['line_id', line_id],
        ['data_used_gb', row.data_used_gb],
        ['data_limit_gb', getPlan(self, row.plan_id).data_limit_gb],
        ['data_refueling_gb', row.data_refueling_gb],
        ['cycle_end_date', cycleEnd],
      ])
    },
    enable_roaming(self, { customer_id, line_id }) {
      const line = getOwnLine(self, customer_id, line_id)
      if (line.row.roaming_enabled) return 'Roaming was already enabled'
      line.edit().roaming_enabled = true
      return 'Roaming enabled successfully'
    },
    disable_roaming(self, { customer_id, line_id }) {
      const line = getOwnLine(self, customer_id, line_id)
      if (!line.row.roaming_enabled) return 'Roaming was already disabled'
      line.edit().roaming_enabled = false
      return 'Roaming disabled successfully'
    },
    transfer_to_human_agents: () => 'Transfer successful',
    refuel_data: (self, args) => refuel(self, args),
  },
  functions: {
    get_available_plan_ids: method([], (self) =>
      [...self.db.table<Plan>('plans').values()].map(({ plan_id }) => plan_id),
    ),
    set_data_usage: method(
      ['customer_id', 'line_id', 'data_used_gb'],
      (self, { customer_id, line_id, data_used_gb }) => {
        getOwnLine(self, customer_id, line_id).edit().data_used_gb = data_used_gb
        return `Data usage set to ${str(data_used_gb)} GB for line ${str(line_id)}`
      },
    ),
    suspend_line_for_overdue_bill: method(
      ['customer_id', 'line_id', 'new_bill_id', 'contract_ended'],
      (self, args) => {
        suspendForOverdueBill(self, args)
        const ended = `Contract ended: ${str(args.contract_ended)}`
        return `Line ${str(args.line_id)} suspended for unpaid bill ${str(args.new_bill_id)}. ${ended}`
      },
    ),
    assert_data_refueling_amount: method(
      ['customer_id', 'line_id', 'expected_amount'],
      (self, { customer_id, line_id, expected_amount }) => {
        const { data_refueling_gb } = getOwnLine(self, customer_id, line_id).row
        return Math.abs(Number(subtract(data_refueling_gb, expected_amount))) < 1e-6
      },
    ),
    assert_line_status: method(
      ['customer_id', 'line_id', 'expected_status'],
      (self, { customer_id, line_id, expected_status }) =>
        equals(getOwnLine(self, customer_id, line_id).row.status, expected_status),
    ),
    assert_overdue_bill_exists: method(
      ['customer_id', 'overdue_bill_id'],
      (self, { customer_id, overdue_bill_id }) => {
        const { bill_ids } = getCustomer(self, customer_id).row
        if (!bill_ids.some((id) => equals(id, overdue_bill_id)))
          throw valueError(`Overdue bill ${str(overdue_bill_id)} not found`)
        if (getBill(self, overdue_bill_id).row.status !== 'Overdue')
          throw valueError(`Overdue bill ${str(overdue_bill_id)} is not overdue`)
        return true
      },
    ),
    assert_no_overdue_bill: method(['overdue_bill_id'], (self, { overdue_bill_id }) => {
      const bills = [...self.db.table<Bill>('bills').values()]
      const bill = bills.find((one) => equals(one.bill_id, overdue_bill_id))
      return bill === undefined || bill.status === 'Paid'
    }),
  },
})

function answer(message: string, line: Value): Value {
  return new Map([
    ['message', message],
    ['line', line],
  ])
}

function byNewest(a: SharedRow<Bill>, b: SharedRow<Bill>): number {
  return compareText(b.issue_date, a.issue_date)
}

/** What an id names, by its first letter. */
function getDetails(self: Self, id: Value): Value {
  const text = needText(id, 'startswith')
  const kinds: Readonly<Record<string, () => Value>> = {
    L: () => getLine(self, id).row,
    D: () => getDevice(self, id),
    B: () => getBill(self, id).row,
    C: () => getCustomer(self, id).row,
    P: () => getPlan(self, id),
  }
  const find = kinds[text.charAt(0)]
  if (!find) throw valueError(`Unknown ID format or type: ${text}`)
  return find()
}

/** The end of `list[:limit]`. */
function sliceEnd(limit: Value): number | undefined {
  if (limit === null) return undefined
  const end = toNumber(limit)
  if (typeof end === 'bigint') return Number(end)
  throw typeError('slice indices must be integers or None or have an __index__ method')
}

function refuel(
  self: Self,
  args: { readonly [K in 'customer_id' | 'line_id' | 'gb_amount']: Value },
): Value {
  const { customer_id, line_id, gb_amount } = args
  const line = getOwnLine(self, customer_id, line_id)
  if (isAtMostZero(gb_amount)) throw valueError('Refuel amount must be positive')
  const { data_refueling_price_per_gb: price } = getPlan(self, line.row.plan_id)
  const amount = toFloat(toNumber(multiply(gb_amount, price)) ?? 0n)
  const own = line.edit()
  own.data_refueling_gb = add(own.data_refueling_gb, gb_amount)
  const description = `Data refueling: ${str(gb_amount)} GB at $${str(price)}/GB`
  charge(self, customer_id, { amount, description })
  const cost = `$${toFixed(amount, 2)}`
  return new Map<string, Value>([
    [
      'message',
      `Successfully added ${str(gb_amount)} GB of data for line ${str(line_id)} for ${cost}`,
    ],
    ['new_data_refueling_gb', own.data_refueling_gb],
    ['charge', amount],
  ])
}

function isAtMostZero(amount: Value): boolean {
  return equals(amount, 0n) || isLess(amount, 0n, '<=')
}
