import { isLess, type Numeric, subtract } from '../python/arithmetic.ts'
import { keyError, valueError } from '../python/error.ts'
import { keyOf } from '../python/methods.ts'
import { str } from '../python/text.ts'
import { equals, type Value } from '../python/value.ts'
import type { SharedRow } from '../state/table.ts'
import type { Self } from '../toolkit.ts'
import { airlineUsersOf } from './lookup.ts'
import {
  type AirlinePaymentMethod,
  type AirlineUser,
  airlinePaymentModel,
  type Payment,
} from './models.ts'

/** Pays for a change of a reservation; a gift card is charged before the payment is checked, as in tau2. */
export function payForUpdate(
  self: Self,
  user: SharedRow<AirlineUser>,
  { payment_id, price }: { readonly payment_id: Value; readonly price: Value },
): Payment | undefined {
  const method = findMethod(user, payment_id)
  if (!method) throw valueError('Payment method not found')
  if (method.source === 'certificate')
    throw valueError('Certificate cannot be used to update reservation')
  if (method.source === 'gift_card') {
    if (isLess(method.amount, price)) throw valueError('Gift card balance is not enough')
    const own = airlineUsersOf(self).edit(user.user_id).payment_methods.get(method.id)
    if (own?.source === 'gift_card') own.amount = subtract(own.amount, price, '-=')
  }
  return equals(price, 0n) ? undefined : airlinePaymentModel.create({ payment_id, amount: price })
}

/** A payment method of a user, to read. */
function findMethod(
  user: SharedRow<AirlineUser>,
  id: Value,
): SharedRow<AirlinePaymentMethod> | undefined {
  const key = keyOf(id)
  return key === undefined ? undefined : user.payment_methods.get(key)
}

/** The payments of a booking must be the user's own, have the balance, and add up. */
export function checkPayments(
  user: SharedRow<AirlineUser>,
  payments: readonly Payment[],
  price: Numeric,
): void {
  for (const { payment_id, amount } of payments) {
    const method = findMethod(user, payment_id)
    if (!method) throw valueError(`Payment method ${payment_id} not found`)
    if (method.source !== 'credit_card' && isLess(method.amount, amount))
      throw valueError(`Not enough balance in payment method ${payment_id}`)
  }
  const paid = payments.reduce((sum, { amount }) => sum + amount, 0n)
  if (!equals(paid, price))
    throw valueError(
      `Payment amount does not add up, total price is ${str(price)}, but paid ${str(paid)}`,
    )
}

/** Charges gift cards and uses certificates up. */
export function deduct(user: AirlineUser, payments: readonly Payment[]): void {
  for (const { payment_id, amount } of payments) {
    const method = user.payment_methods.get(payment_id)
    if (!method) throw keyError(payment_id)
    if (method.source === 'gift_card') method.amount = subtract(method.amount, amount)
    else if (method.source === 'certificate') user.payment_methods.delete(payment_id)
  }
}
