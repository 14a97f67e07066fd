/** The agent's database of the telecom domain. Dates and the values of its enums are kept as their texts. */
import { defaults, type Model, model, orNone } from '../model/model.ts'
import {
  bool,
  date,
  datetime,
  enumOf,
  float,
  listType,
  optionalType,
  strType,
} from '../model/types.ts'
import type { Numeric } from '../python/arithmetic.ts'
import type { Instance, Value } from '../python/value.ts'
import type { DatabaseType } from '../state/base.ts'

/** A tariff. */
export interface Plan extends Instance {
  plan_id: string
  name: string
  data_limit_gb: number
  price_per_month: number
  data_refueling_price_per_gb: number
}

/** A phone, a tablet or another device. */
export interface Device extends Instance {
  device_id: string
  device_type: string
  model: string
  imei: string | null
  is_esim_capable: boolean
  activated: boolean
  activation_date: string | null
  last_esim_transfer_date: string | null
}

/** A line of a customer. */
export interface Line extends Instance {
  line_id: string
  phone_number: string
  status: string
  plan_id: string
  device_id: string | null
  data_used_gb: Value
  data_refueling_gb: Numeric
  roaming_enabled: boolean
  contract_end_date: string | null
  last_plan_change_date: string | null
  last_sim_replacement_date: string | null
  suspension_start_date: string | null
}

/** A charge or a credit of a bill. */
interface LineItem extends Instance {
  description: string
  amount: number
  date: string
  item_type: string
}

/** A bill. */
export interface Bill extends Instance {
  bill_id: string
  customer_id: string
  period_start: string
  period_end: string
  issue_date: string
  total_due: Numeric
  due_date: string
  line_items: LineItem[]
  status: string
}

/** A postal address. */
interface TelecomAddress extends Instance {
  street: string
  city: string
  state: string
  zip_code: string
}

/** A way to pay. */
interface PaymentMethod extends Instance {
  method_type: string
  account_number_last_4: string
  expiration_date: string
}

/** A customer. */
export interface Customer extends Instance {
  customer_id: string
  full_name: string
  date_of_birth: string
  email: string
  phone_number: string
  address: TelecomAddress
  account_status: string
  payment_methods: PaymentMethod[]
  line_ids: string[]
  bill_ids: string[]
  created_at: string
  last_extension_date: string | null
  goodwill_credit_used_this_year: number
}

const forbid = { extra: 'forbid' } as const
const none = { date: orNone(optionalType(date)), datetime: orNone(optionalType(datetime)) }
const empty = (): Value => []

const address: Model<TelecomAddress> = model<TelecomAddress>(
  'Address',
  { street: strType, city: strType, state: strType, zip_code: strType },
  forbid,
)
const plan: Model<Plan> = model<Plan>(
  'Plan',
  {
    plan_id: strType,
    name: strType,
    data_limit_gb: float,
    price_per_month: float,
    data_refueling_price_per_gb: float,
  },
  forbid,
)
const device: Model<Device> = model<Device>(
  'Device',
  {
    device_id: strType,
    device_type: enumOf(['phone', 'router', 'tablet', 'watch', 'other']),
    model: strType,
    imei: orNone(optionalType(strType)),
    is_esim_capable: bool,
    activated: defaults(bool, () => false),
    activation_date: none.datetime,
    last_esim_transfer_date: none.datetime,
  },
  forbid,
)
const line: Model<Line> = model<Line>(
  'Line',
  {
    line_id: strType,
    phone_number: strType,
    status: defaults(
      enumOf(['Active', 'Suspended', 'Pending Activation', 'Closed']),
      () => 'Pending Activation',
    ),
    plan_id: strType,
    device_id: orNone(optionalType(strType)),
    data_used_gb: defaults(float, () => 0),
    data_refueling_gb: defaults(float, () => 0),
    roaming_enabled: defaults(bool, () => false),
    contract_end_date: none.date,
    last_plan_change_date: none.date,
    last_sim_replacement_date: none.date,
    suspension_start_date: none.date,
  },
  forbid,
)

/** The model of a charge. */
export const lineItemModel: Model<LineItem> = model<LineItem>(
  'LineItem',
  { description: strType, amount: float, date, item_type: strType },
  forbid,
)

/** The model of a bill. */
export const billModel: Model<Bill> = model<Bill>(
  'Bill',
  {
    bill_id: strType,
    customer_id: strType,
    period_start: date,
    period_end: date,
    issue_date: date,
    total_due: float,
    due_date: date,
    line_items: defaults(listType(lineItemModel), empty),
    status: defaults(
      enumOf(['Draft', 'Issued', 'Awaiting Payment', 'Paid', 'Overdue', 'Disputed']),
      () => 'Draft',
    ),
  },
  forbid,
)

const paymentMethod: Model<PaymentMethod> = model<PaymentMethod>(
  'PaymentMethod',
  {
    method_type: enumOf(['Credit Card', 'Debit Card', 'PayPal']),
    account_number_last_4: strType,
    expiration_date: strType,
  },
  forbid,
)
const customer: Model<Customer> = model<Customer>(
  'Customer',
  {
    customer_id: strType,
    full_name: strType,
    date_of_birth: strType,
    email: strType,
    phone_number: strType,
    address,
    account_status: defaults(
      enumOf(['Active', 'Suspended', 'Pending Verification', 'Closed']),
      () => 'Pending Verification',
    ),
    payment_methods: defaults(listType(paymentMethod), empty),
    line_ids: defaults(listType(strType), empty),
    bill_ids: defaults(listType(strType), empty),
    // A date, not a moment: a default is not checked.
    created_at: defaults(datetime, () => '2025-01-01'),
    last_extension_date: none.date,
    goodwill_credit_used_this_year: defaults(float, () => 0),
  },
  forbid,
)

/** The agent's database. */
export const telecomDatabase: DatabaseType = {
  name: 'TelecomDB',
  tables: {
    plans: rows(plan),
    customers: rows(customer),
    lines: rows(line),
    bills: rows(billModel),
    devices: rows(device),
  },
}

function rows(row: Model<Instance>): DatabaseType['tables'][string] {
  return { shape: 'list', row, absent: empty }
}
