import { type Model, model, orNone } from '../model/model.ts'
import { bool, dict, float, list, literal, optional, str, union } from '../model/types.ts'
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
export interface UserName extends Instance {
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
export interface CreditCard extends Instance {
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
export interface Paypal extends Instance {
  source: 'paypal'
  id: string
}

/** What a user pays with. */
export type PaymentMethod = CreditCard | GiftCard | Paypal

/** A customer. */
export interface User extends Instance {
  user_id: string
  name: UserName
  address: UserAddress
  email: string
  payment_methods: Map<string, PaymentMethod>
  orders: string[]
}

/** The items of one shipment. */
export interface OrderFulfilment extends Instance {
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
  item_id: str,
  options: dict(str),
  available: bool,
  price: float,
})
const product: Model<Product> = model<Product>('Product', {
  name: str,
  product_id: str,
  variants: dict(variant),
})
const userName: Model<UserName> = model<UserName>('UserName', { first_name: str, last_name: str })

/** The model of an address. */
export const addressModel: Model<UserAddress> = model<UserAddress>('UserAddress', {
  address1: str,
  address2: str,
  city: str,
  country: str,
  state: str,
  zip: str,
})

const creditCard: Model<CreditCard> = model<CreditCard>('CreditCard', {
  source: literal('credit_card'),
  id: str,
  brand: str,
  last_four: str,
})
const giftCard: Model<GiftCard> = model<GiftCard>('GiftCard', {
  source: literal('gift_card'),
  id: str,
  balance: float,
})
const paypal: Model<Paypal> = model<Paypal>('Paypal', { source: literal('paypal'), id: str })

const user: Model<User> = model<User>('User', {
  user_id: str,
  name: userName,
  address: addressModel,
  email: str,
  payment_methods: dict(union(creditCard, giftCard, paypal)),
  orders: list(str),
})
const fulfilment: Model<OrderFulfilment> = model<OrderFulfilment>('OrderFullfilment', {
  tracking_id: list(str),
  item_ids: list(str),
})
const orderItem: Model<OrderItem> = model<OrderItem>('OrderItem', {
  name: str,
  product_id: str,
  item_id: str,
  price: float,
  options: dict(str),
})

/** The model of a payment. */
export const paymentModel: Model<OrderPayment> = model<OrderPayment>('OrderPayment', {
  transaction_type: literal('payment', 'refund'),
  amount: float,
  payment_method_id: str,
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
  order_id: str,
  user_id: str,
  address: addressModel,
  items: list(orderItem),
  status: literal(...statuses),
  fulfillments: list(fulfilment),
  payment_history: list(paymentModel),
  cancel_reason: orNone(optional(literal('no longer needed', 'ordered by mistake'))),
  exchange_items: orNone(optional(list(str))),
  exchange_new_items: orNone(optional(list(str))),
  exchange_payment_method_id: orNone(optional(str)),
  exchange_price_difference: orNone(optional(float)),
  return_items: orNone(optional(list(str))),
  return_payment_method_id: orNone(optional(str)),
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
