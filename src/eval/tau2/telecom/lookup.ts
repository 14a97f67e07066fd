/** How telecom's tools find things; each raises in tau2's words where there is nothing. */
import { valueError } from '../python/error.ts'
import { str } from '../python/text.ts'
import { equals, type Instance, type Value } from '../python/value.ts'
import type { RowKey, SharedRow, Table } from '../state/table.ts'
import type { Self } from '../toolkit.ts'
import type { Bill, Customer, Device, Line, Plan } from './models.ts'

/** A row to read, and how to come by one's own copy of it. */
export interface Found<T extends Instance> {
  readonly row: SharedRow<T>
  edit(): T
}

/** The customers. */
export const customersOf = ({ db }: Self): Table<Customer> => db.table('customers')

/** The bills. */
export const billsOf = ({ db }: Self): Table<Bill> => db.table('bills')

const linesOf = ({ db }: Self): Table<Line> => db.table('lines')

/** A customer by id. */
export function getCustomer(self: Self, id: Value): Found<Customer> {
  return (
    find(customersOf(self), (row) => equals(row.customer_id, id)) ??
    fail(`Customer with ID ${str(id)} not found`)
  )
}

/** The first customer with this number, as a contact or on one of their lines. */
export function getCustomerByPhone(self: Self, phone: Value): Found<Customer> {
  const isTheirs = (row: SharedRow<Customer>): boolean =>
    equals(row.phone_number, phone) ||
    row.line_ids.some((id) => equals(getLine(self, id).row.phone_number, phone))
  return (
    find(customersOf(self), isTheirs) ?? fail(`Customer with phone number ${str(phone)} not found`)
  )
}

/** A line by id. */
export function getLine(self: Self, id: Value): Found<Line> {
  return (
    find(linesOf(self), (row) => equals(row.line_id, id)) ??
    fail(`Line with ID ${str(id)} not found`)
  )
}

/** A line by its number. */
export function getLineByPhone(self: Self, phone: Value): Found<Line> {
  return (
    find(linesOf(self), (row) => equals(row.phone_number, phone)) ??
    fail(`Line with phone number ${str(phone)} not found`)
  )
}

/** A line that must be the customer's. */
export function getOwnLine(self: Self, customerId: Value, lineId: Value): Found<Line> {
  const { row } = getCustomer(self, customerId)
  if (!row.line_ids.some((id) => equals(id, lineId)))
    throw valueError(`Line ${str(lineId)} not found for customer ${str(customerId)}`)
  return getLine(self, lineId)
}

/** A plan by id. */
export function getPlan(self: Self, id: Value): SharedRow<Plan> {
  const plans = self.db.table<Plan>('plans')
  return (
    find(plans, (row) => equals(row.plan_id, id)) ?? fail(`Plan with ID ${str(id)} not found`)
  ).row
}

/** A device by id. */
export function getDevice(self: Self, id: Value): SharedRow<Device> {
  const devices = self.db.table<Device>('devices')
  return (
    find(devices, (row) => equals(row.device_id, id)) ?? fail(`Device with ID ${str(id)} not found`)
  ).row
}

/** A bill by id. */
export function getBill(self: Self, id: Value): Found<Bill> {
  return (
    find(billsOf(self), (row) => equals(row.bill_id, id)) ??
    fail(`Bill with ID ${str(id)} not found`)
  )
}

/** The customer's bills that wait for a payment. */
export function billsAwaitingPayment(self: Self, customer: SharedRow<Customer>): SharedRow<Bill>[] {
  return customer.bill_ids
    .map((id) => getBill(self, id).row)
    .filter(({ status }) => status === 'Awaiting Payment')
}

function find<T extends Instance>(
  table: Table<T>,
  fits: (row: SharedRow<T>) => boolean,
): Found<T> | undefined {
  for (const [key, row] of table.entries()) if (fits(row)) return found(table, key, row)
  return undefined
}

function found<T extends Instance>(table: Table<T>, key: RowKey, row: SharedRow<T>): Found<T> {
  return { row, edit: () => table.edit(key) }
}

function fail(message: string): never {
  throw valueError(message)
}
