/** Retail's tools that change orders and users. Checks come before changes, in tau2's order. */
import { add, isLess, type Numeric, subtract } from '../python/arithmetic.ts'
import { typeError, valueError } from '../python/error.ts'
import { roundHalfEven } from '../python/float.ts'
import { count, iterate, keyOf, length, sortedTexts } from '../python/methods.ts'
import { str } from '../python/text.ts'
import { equals, type Value } from '../python/value.ts'
import type { SharedRow } from '../state/table.ts'
import type { Self, Tools } from '../toolkit.ts'
import {
  editGiftCard,
  getOrder,
  getPaymentMethod,
  getRetailUser,
  getVariant,
  ordersOf,
  retailUsersOf,
} from './lookup.ts'
import {
  addressModel,
  type GiftCard,
  type Order,
  type OrderItem,
  type OrderPayment,
  retailPaymentModel,
  type UserAddress,
  type Variant,
} from './models.ts'
import type { retailWords } from './words.ts'

type RetailChanges = Pick<
  Tools<typeof retailWords>,
  | 'cancel_pending_order'
  | 'exchange_delivered_order_items'
  | 'modify_pending_order_address'
  | 'modify_pending_order_items'
  | 'modify_pending_order_payment'
  | 'modify_user_address'
  | 'return_delivered_order_items'
>

/** The tools that change something. */
export const retailChanges: RetailChanges = {
  cancel_pending_order(self, { order_id, reason }) {
    if (getOrder(self, order_id).status !== 'pending')
      throw valueError('Non-pending order cannot be cancelled')
    if (keyOf(reason) !== 'no longer needed' && reason !== 'ordered by mistake')
      throw valueError('Invalid reason')
    const order = ordersOf(self).edit(order_id)
    const refunds = order.payment_history.map((payment) => refund(self, order, payment))
    order.status = 'cancelled'
    order.cancel_reason = reason
    order.payment_history.push(...refunds)
    return order
  },

  exchange_delivered_order_items(self, { order_id, item_ids, new_item_ids, payment_method_id }) {
    const order = getOrder(self, order_id)
    if (order.status !== 'delivered') throw valueError('Non-delivered order cannot be exchanged')
    checkItems(order, item_ids, (id) => `Number of ${str(id)} not found.`)
    if (length(item_ids) !== length(new_item_ids))
      throw valueError('The number of items to be exchanged should match.')
    const swaps = pairs(item_ids, new_item_ids).map((pair) => findSwap(self, order, pair))
    const difference = roundHalfEven(priceDifference(swaps), 2)
    const method = getPaymentMethod(self, order.user_id, payment_method_id)
    if (method.source === 'gift_card' && isLess(method.balance, difference))
      throw valueError('Insufficient gift card balance to pay for the price difference')
    return Object.assign(ordersOf(self).edit(order_id), {
      status: 'exchange requested',
      exchange_items: sortedTexts(item_ids),
      exchange_new_items: sortedTexts(new_item_ids),
      exchange_payment_method_id: payment_method_id,
      exchange_price_difference: difference,
    })
  },

  modify_pending_order_address(self, { order_id, ...address }) {
    if (!getOrder(self, order_id).status.includes('pending'))
      throw valueError('Non-pending order cannot be modified')
    const made = toAddress(address)
    return Object.assign(ordersOf(self).edit(order_id), { address: made })
  },

  modify_pending_order_items(self, { order_id, item_ids, new_item_ids, payment_method_id }) {
    const order = getOrder(self, order_id)
    if (order.status !== 'pending') throw valueError('Non-pending order cannot be modified')
    checkItems(order, item_ids, (id) => `${str(id)} not found`)
    if (length(item_ids) !== length(new_item_ids))
      throw valueError('The number of items to be exchanged should match')
    const swaps = pairs(item_ids, new_item_ids).map(([old, fresh]) => {
      if (equals(old, fresh))
        throw valueError('The new item id should be different from the old item id')
      return findSwap(self, order, [old, fresh])
    })
    const difference = priceDifference(swaps)
    const method = getPaymentMethod(self, order.user_id, payment_method_id)
    if (method.source === 'gift_card' && isLess(method.balance, difference))
      throw valueError('Insufficient gift card balance to pay for the new item')
    const own = ordersOf(self).edit(order_id)
    own.payment_history.push(
      retailPaymentModel.create({
        transaction_type: difference > 0 ? 'payment' : 'refund',
        amount: difference < 0 ? -difference : difference,
        payment_method_id,
      }),
    )
    const card = editGiftCard(self, order.user_id, payment_method_id)
    if (card) card.balance = roundHalfEven(subtract(card.balance, difference), 2)
    // Every item becomes the variant that was looked at last: so does tau2.
    const variant = swaps.at(-1)?.variant
    for (const [old, fresh] of pairs(item_ids, new_item_ids)) swapItem(own, [old, fresh], variant)
    own.status = 'pending (item modified)'
    return own
  },

  modify_pending_order_payment(self, { order_id, payment_method_id }) {
    const { status, user_id, payment_history } = getOrder(self, order_id)
    if (!status.includes('pending')) throw valueError('Non-pending order cannot be modified')
    const method = getPaymentMethod(self, user_id, payment_method_id)
    const [paid] = payment_history
    if (!paid || payment_history.length !== 1 || paid.transaction_type !== 'payment')
      throw valueError('There should be exactly one payment for a pending order')
    if (equals(paid.payment_method_id, payment_method_id))
      throw valueError('The new payment method should be different from the current one')
    const { amount } = paid
    if (method.source === 'gift_card' && isLess(method.balance, amount))
      throw valueError('Insufficient gift card balance to pay for the order')
    const own = ordersOf(self).edit(order_id)
    const old = paid.payment_method_id
    own.payment_history.push(
      retailPaymentModel.create({ transaction_type: 'payment', amount, payment_method_id }),
      retailPaymentModel.create({ transaction_type: 'refund', amount, payment_method_id: old }),
    )
    const paying = editGiftCard(self, user_id, payment_method_id)
    if (paying) paying.balance = roundHalfEven(subtract(paying.balance, amount), 2)
    giveBack(editGiftCard(self, user_id, old), amount)
    return own
  },

  modify_user_address(self, { user_id, ...address }) {
    getRetailUser(self, user_id)
    const made = toAddress(address)
    return Object.assign(retailUsersOf(self).edit(user_id), { address: made })
  },

  return_delivered_order_items(self, { order_id, item_ids, payment_method_id }) {
    const order = getOrder(self, order_id)
    if (order.status !== 'delivered') throw valueError('Non-delivered order cannot be returned')
    const method = getPaymentMethod(self, order.user_id, payment_method_id)
    const original = order.payment_history[0]?.payment_method_id
    if (method.source !== 'gift_card' && payment_method_id !== original)
      throw valueError('Payment method should be the original payment method')
    checkItems(order, item_ids, () => 'Some item not found')
    return Object.assign(ordersOf(self).edit(order_id), {
      status: 'return requested',
      return_items: sortedTexts(item_ids),
      return_payment_method_id: payment_method_id,
    })
  },
}

/** The refund of a payment; a gift card has its money back at once. */
function refund(
  self: Self,
  order: Order,
  { amount, payment_method_id }: OrderPayment,
): OrderPayment {
  const made = retailPaymentModel.create({ transaction_type: 'refund', amount, payment_method_id })
  giveBack(editGiftCard(self, order.user_id, payment_method_id), amount)
  return made
}

function giveBack(card: GiftCard | undefined, amount: Numeric): void {
  if (card) card.balance = roundHalfEven(add(card.balance, amount), 2)
}

/** Every item must be in the order as often as it is named. */
function checkItems(order: SharedRow<Order>, ids: Value, words: (id: Value) => string): void {
  const owned = order.items.map(({ item_id }) => item_id)
  for (const id of iterate(ids)) if (count(ids, id) > count(owned, id)) throw valueError(words(id))
}

function pairs(old: Value, fresh: Value): (readonly [Value, Value])[] {
  const others = iterate(fresh)
  return iterate(old).map((id, index) => [id, others[index] ?? null])
}

interface Swap {
  readonly item: SharedRow<OrderItem>
  readonly variant: SharedRow<Variant>
}

function findSwap(
  self: Self,
  order: SharedRow<Order>,
  [old, fresh]: readonly [Value, Value],
): Swap {
  const item = order.items.find(({ item_id }) => equals(item_id, old))
  if (!item) throw valueError(`Item ${str(old)} not found`)
  const variant = getVariant(self, item.product_id, fresh)
  if (!variant.available) throw valueError(`New item ${str(fresh)} not found or available`)
  return { item, variant }
}

/** The int 0 where there is nothing to swap, which is written differently from a float's. */
function priceDifference(swaps: readonly Swap[]): Numeric {
  return swaps.reduce<Numeric>(
    (sum, { item, variant }) => add(sum, subtract(variant.price, item.price)),
    0n,
  )
}

function swapItem(
  order: Order,
  [old, fresh]: readonly [Value, Value],
  variant: SharedRow<Variant> | undefined,
): void {
  const item = order.items.find(({ item_id }) => equals(item_id, old))
  if (!item) throw valueError(`Item ${str(old)} not found`)
  if (!variant) throw typeError('There is no variant')
  item.item_id = fresh
  item.price = variant.price
  item.options = variant.options
}

function toAddress(
  values: {
    readonly [K in 'address1' | 'address2' | 'city' | 'state' | 'country' | 'zip']: Value
  },
): UserAddress {
  return addressModel.create(values)
}
