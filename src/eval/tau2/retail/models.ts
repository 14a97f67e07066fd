import { type Model, model, orNone } from '../model/model.ts'
import {
  bool,
  dictType,
  float,
  listType,
  literal,
  optionalType,
  strType,
  union,
} from '../model/types.ts'
import type { Numeric } from '../python/arithmetic.ts'
import type { Instance, Value } from '../python/value.ts'
import type { DatabaseType } from '../state/base.ts'

/** A variant of a product. */
export interface Variant extends Instance {
  item_id: string
  options: ReadonlyMap<string, string>
  available: boolean
  price: number
}

/** A product with its variants. */
export interface Product extends Instance {
  name: string
  product_id: string
  variants: Map<string, Variant>
}

/** A person's name. */
interface UserName extends Instance {
  first_name: string
  last_name: string
}

/** A postal address. */
export interface UserAddress extends Instance {
  address1: string
  address2: string
  city: string
  country: string
  state: string
  zip: string
}

/** A credit card. */
interface CreditCard extends Instance {
  source: 'credit_card'
  id: string
  brand: string
  last_four: string
}

/** A gift card; the only payment method with a balance. */
export interface GiftCard extends Instance {
  source: 'gift_card'
  id: string
  balance: Numeric
}

/** A PayPal account. */
interface Paypal extends Instance {
  source: 'paypal'
  id: string
}

/** What a user pays with. */
export type RetailPaymentMethod = CreditCard | GiftCard | Paypal

/** A customer. */
export interface RetailUser extends Instance {
  user_id: string
  name: UserName
  address: UserAddress
  email: string
  payment_methods: Map<string, RetailPaymentMethod>
  orders: string[]
}

/** The items of one shipment. */
interface OrderFulfilment extends Instance {
  tracking_id: string[]
  item_ids: string[]
}

/** An item of an order. */
export interface OrderItem extends Instance {
  name: string
  product_id: string
  item_id: Value
  price: number
  options: ReadonlyMap<string, string>
}

/** A payment or a refund. */
export interface OrderPayment extends Instance {
  transaction_type: string
  amount: Numeric
  payment_method_id: string
}

/** An order. What tools assign to it is not checked, so some fields may hold anything. */
export interface Order extends Instance {
  order_id: string
  user_id: string
  address: UserAddress
  items: OrderItem[]
  status: string
  fulfillments: OrderFulfilment[]
  payment_history: OrderPayment[]
  cancel_reason: Value
  exchange_items: Value
  exchange_new_items: Value
  exchange_payment_method_id: Value
  exchange_price_difference: Value
  return_items: Value
  return_payment_method_id: Value
}

const variant: Model<Variant> = model<Variant>('Variant', {
  item_id: strType,
  options: dictType(strType),
  available: bool,
  price: float,
})
const product: Model<Product> = model<Product>('Product', {
  name: strType,
  product_id: strType,
  variants: dictType(variant),
})
const userName: Model<UserName> = model<UserName>('UserName', {
  first_name: strType,
  last_name: strType,
})

/** The model of an address. */
export const addressModel: Model<UserAddress> = model<UserAddress>('UserAddress', {
  address1: strType,
  address2: strType,
  city: strType,
  country: strType,
  state: strType,
  zip: strType,
})

const creditCard: Model<CreditCard> = model<CreditCard>('CreditCard', {
  source: literal('credit_card'),
  id: strType,
  brand: strType,
  last_four: strType,
})
const giftCard: Model<GiftCard> = model<GiftCard>('GiftCard', {
  source: literal('gift_card'),
  id: strType,
  balance: float,
})
const paypal: Model<Paypal> = model<Paypal>('Paypal', { source: literal('paypal'), id: strType })

const user: Model<RetailUser> = model<RetailUser>('User', {
  user_id: strType,
  name: userName,
  address: addressModel,
  email: strType,
  payment_methods: dictType(union(creditCard, giftCard, paypal)),
  orders: listType(strType),
})
const fulfilment: Model<OrderFulfilment> = model<OrderFulfilment>('OrderFullfilment', {
  tracking_id: listType(strType),
  item_ids: listType(strType),
})
const orderItem: Model<OrderItem> = model<OrderItem>('OrderItem', {
  name: strType,
  product_id: strType,
  item_id: strType,
  price: float,
  options: dictType(strType),
})

/** The model of a payment. */
export const retailPaymentModel: Model<OrderPayment> = model<OrderPayment>('OrderPayment', {
  transaction_type: literal('payment', 'refund'),
  amount: float,
  payment_method_id: strType,
})

const statuses = [
  'processed',
  'pending',
  'pending (item modified)',
  'delivered',
  'cancelled',
  'exchange requested',
  'return requested',
]

const order: Model<Order> = model<Order>('Order', {
  order_id: strType,
  user_id: strType,
  address: addressModel,
  items: listType(orderItem),
  status: literal(...statuses),
  fulfillments: listType(fulfilment),
  payment_history: listType(retailPaymentModel),
  cancel_reason: orNone(optionalType(literal('no longer needed', 'ordered by mistake'))),
  exchange_items: orNone(optionalType(listType(strType))),
  exchange_new_items: orNone(optionalType(listType(strType))),
  exchange_payment_method_id: orNone(optionalType(strType)),
  exchange_price_difference: orNone(optionalType(float)),
  return_items: orNone(optionalType(listType(strType))),
  return_payment_method_id: orNone(optionalType(strType)),
})

/** The database of the retail domain. */
export const retailDatabase: DatabaseType = {
  name: 'RetailDB',
  tables: {
    products: { shape: 'dict', row: product },
    users: { shape: 'dict', row: user },
    orders: { shape: 'dict', row: order },
  },
}
