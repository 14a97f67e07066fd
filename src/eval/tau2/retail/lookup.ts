/** How retail's tools find things; each raises in tau2's words where there is nothing. */
import { valueError } from '../python/error.ts'
import { keyOf } from '../python/methods.ts'
import type { Value } from '../python/value.ts'
import type { SharedRow, Table } from '../state/table.ts'
import type { Self } from '../toolkit.ts'
import type {
  GiftCard,
  Order,
  Product,
  RetailPaymentMethod,
  RetailUser,
  Variant,
} from './models.ts'

/** The orders. */
export const ordersOf = ({ db }: Self): Table<Order> => db.table('orders')

/** The users. */
export const retailUsersOf = ({ db }: Self): Table<RetailUser> => db.table('users')

/** The products. */
export const productsOf = ({ db }: Self): Table<Product> => db.table('products')

/** An order to read. */
export function getOrder(self: Self, id: Value): SharedRow<Order> {
  const order = ordersOf(self).get(id)
  if (!order) throw valueError('Order not found')
  return order
}

/** A user to read. */
export function getRetailUser(self: Self, id: Value): SharedRow<RetailUser> {
  const user = retailUsersOf(self).get(id)
  if (!user) throw valueError('User not found')
  return user
}

/** A product to read. */
export function getProduct(self: Self, id: Value): SharedRow<Product> {
  const product = productsOf(self).get(id)
  if (!product) throw valueError('Product not found')
  return product
}

/** A variant of a product. */
export function getVariant(self: Self, productId: Value, variantId: Value): SharedRow<Variant> {
  const product = getProduct(self, productId)
  const key = keyOf(variantId)
  const variant = key === undefined ? undefined : product.variants.get(key)
  if (!variant) throw valueError('Variant not found')
  return variant
}

/** A payment method of a user, to read. */
export function getPaymentMethod(
  self: Self,
  userId: Value,
  id: Value,
): SharedRow<RetailPaymentMethod> {
  const user = getRetailUser(self, userId)
  const key = keyOf(id)
  const found = key === undefined ? undefined : user.payment_methods.get(key)
  if (!found) throw valueError('Payment method not found')
  return found
}

/** A gift card of a user, to change its balance; undefined for what is no gift card. */
export function editGiftCard(self: Self, userId: Value, id: Value): GiftCard | undefined {
  if (getPaymentMethod(self, userId, id).source !== 'gift_card') return undefined
  const method = retailUsersOf(self).edit(userId).payment_methods.get(String(id))
  return method?.source === 'gift_card' ? method : undefined
}
