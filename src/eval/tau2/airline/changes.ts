/** The airline's tools that change something. Checks come before changes, in tau2's order. */

import { deepCopy, type Model } from '../model/model.ts'
import { add, isLess, multiply, type Numeric, subtract } from '../python/arithmetic.ts'
import { attributeError, keyError, valueError } from '../python/error.ts'
import { iterate, keyOf, length } from '../python/methods.ts'
import { str } from '../python/text.ts'
import { equals, type Instance, isDict, type Value } from '../python/value.ts'
import type { SharedRow } from '../state/table.ts'
import type { Self, Tools } from '../toolkit.ts'
import {
  airlineUsersOf,
  flightsOf,
  getAirlineUser,
  getAvailable,
  getFlight,
  getReservation,
  reservationsOf,
} from './lookup.ts'
import {
  type AirlinePaymentMethod,
  type AirlineUser,
  airlinePaymentModel,
  certificateModel,
  type FlightInfo,
  flightInfoModel,
  type Payment,
  passengerModel,
  type Reservation,
  type ReservationFlight,
  reservationFlightModel,
  reservationModel,
} from './models.ts'
import type { airlineWords } from './words.ts'

type AirlineChanges = Pick<
  Tools<typeof airlineWords>,
  | 'book_reservation'
  | 'cancel_reservation'
  | 'send_certificate'
  | 'update_reservation_baggages'
  | 'update_reservation_flights'
  | 'update_reservation_passengers'
>

/** The tools that change something. */
export const airlineChanges: AirlineChanges = {
  book_reservation(self, args) {
    const { user_id, cabin, insurance, nonfree_baggages } = args
    const infos = toModels(flightInfoModel, args.flights)
    const passengers = toModels(passengerModel, args.passengers)
    const methods = toModels(airlinePaymentModel, args.payment_methods)
    const user = getAirlineUser(self, user_id)
    const reservation = createReservation(self, { ...args, passengers, payment_methods: methods })
    const count = BigInt(length(passengers))
    const flights = iterate(infos).map((one) => {
      const info = instanceOf(flightInfoModel, one, 'flight_number')
      return reserve(self, info, { cabin, count })
    })
    reservation.flights.push(...flights)
    const fares = flights.reduce((sum, { price }) => sum + price * count, 0n)
    const insured = equals(insurance, 'yes') ? fares + 30n * count : fares
    const price = add(insured, multiply(50n, nonfree_baggages), '+=')
    const payments = iterate(methods).map((one) =>
      instanceOf(airlinePaymentModel, one, 'payment_id'),
    )
    checkPayments(user, payments, price)
    const own = airlineUsersOf(self).edit(user_id)
    deduct(own, payments)
    for (const flight of flights) takeSeats(self, flight, { cabin: String(cabin), count })
    reservationsOf(self).put(reservation.reservation_id, reservation)
    own.reservations.push(reservation.reservation_id)
    return reservation
  },

  cancel_reservation(self, { reservation_id }) {
    getReservation(self, reservation_id)
    const own = reservationsOf(self).edit(reservation_id)
    const refunds = own.payment_history.map(({ payment_id, amount }) =>
      airlinePaymentModel.create({ payment_id, amount: -amount }),
    )
    own.payment_history.push(...refunds)
    // The seats stay taken: so they do in tau2.
    own.status = 'cancelled'
    return own
  },

  send_certificate(self, { user_id, amount }) {
    const user = getAirlineUser(self, user_id)
    const ids = ['certificate_3221322', 'certificate_3221323', 'certificate_3221324']
    const id = ids.find((one) => !user.payment_methods.has(one))
    if (id === undefined) throw valueError('Too many certificates')
    const certificate = certificateModel.create({ id, amount, source: 'certificate' })
    airlineUsersOf(self).edit(user_id).payment_methods.set(id, certificate)
    return `Certificate ${id} added to user ${str(user_id)} with amount ${str(amount)}.`
  },

  update_reservation_baggages(self, args) {
    const { reservation_id, total_baggages, nonfree_baggages, payment_id } = args
    const { user_id, nonfree_baggages: before } = getReservation(self, reservation_id)
    const user = getAirlineUser(self, user_id)
    const more = subtract(nonfree_baggages, before)
    const price = multiply(50n, more > 0 ? more : 0n)
    const payment = payForUpdate(self, user, { payment_id, price })
    const own = reservationsOf(self).edit(reservation_id)
    if (payment) own.payment_history.push(payment)
    return Object.assign(own, { total_baggages, nonfree_baggages })
  },

  update_reservation_flights(self, { reservation_id, cabin, flights, payment_id }) {
    const infos = toModels(flightInfoModel, flights)
    const { user_id } = getReservation(self, reservation_id)
    const user = getAirlineUser(self, user_id)
    const own = reservationsOf(self).edit(reservation_id)
    const count = BigInt(length(own.passengers))
    const chosen = iterate(infos).map((one) => {
      const info = instanceOf(flightInfoModel, one, 'flight_number')
      return keptFlight(own, info, cabin) ?? reserve(self, info, { cabin, count })
    })
    const price = (total(chosen) - total(own.flights)) * count
    const payment = payForUpdate(self, user, { payment_id, price })
    if (payment) own.payment_history.push(payment)
    return Object.assign(own, { flights: chosen, cabin })
  },

  update_reservation_passengers(self, { reservation_id, passengers }) {
    const given = toModels(passengerModel, passengers)
    const reservation = getReservation(self, reservation_id)
    if (length(given) !== length(reservation.passengers))
      throw valueError('Number of passengers does not match')
    return Object.assign(reservationsOf(self).edit(reservation_id), { passengers: deepCopy(given) })
  },
}

/** Dicts become instances where all are dicts; a list with anything else in it stays as it is. */
function toModels(model: Model<Instance>, given: Value): Value {
  const items = iterate(given)
  return items.every((item) => isDict(item))
    ? items.map((item) => model.from(isDict(item) ? item : new Map()))
    : given
}

/** An instance, or the error of reading its first attribute from something else. */
function instanceOf<T extends Instance>(model: Model<T>, value: Value, attribute: string): T {
  if (!model.is(value)) throw attributeError(value, attribute)
  return value
}

function createReservation(
  self: Self,
  args: Readonly<Record<'passengers' | 'payment_methods' | 'user_id', Value>> &
    Readonly<Record<string, Value>>,
): Reservation {
  const { flights: _, passengers, payment_methods, ...rest } = args
  return reservationModel.create({
    reservation_id: freeId(self),
    ...rest,
    flights: [],
    passengers: deepCopy(passengers),
    payment_history: deepCopy(payment_methods),
    created_at: '2024-05-15T15:00:00',
  })
}

/** A task makes three reservations at most. */
function freeId(self: Self): string {
  const id = ['HATHAT', 'HATHAU', 'HATHAV'].find((one) => !reservationsOf(self).get(one))
  if (id === undefined) throw valueError('Too many reservations')
  return id
}

interface Seats {
  readonly cabin: Value
  readonly count: bigint
}

function reserve(
  self: Self,
  { flight_number, date }: FlightInfo,
  { cabin, count }: Seats,
): ReservationFlight {
  const { origin, destination } = getFlight(self, flight_number)
  const { available_seats, prices } = getAvailable(self, flight_number, date)
  const key = keyOf(cabin) ?? ''
  const [free, price] = [available_seats.get(key), prices.get(key)]
  if (free === undefined || price === undefined) throw keyError(cabin)
  if (isLess(free, count)) throw valueError(`Not enough seats on flight ${flight_number}`)
  return reservationFlightModel.create({ flight_number, date, price, origin, destination })
}

function takeSeats(
  self: Self,
  { flight_number, date }: ReservationFlight,
  { cabin, count }: { readonly cabin: string; readonly count: bigint },
): void {
  const departure = flightsOf(self).edit(flight_number).dates.get(date)
  if (departure?.status !== 'available') return
  departure.available_seats.set(cabin, (departure.available_seats.get(cabin) ?? 0n) - count)
}

/** The flight that the reservation has already, if the cabin stays the same. */
function keptFlight(
  reservation: Reservation,
  info: FlightInfo,
  cabin: Value,
): ReservationFlight | undefined {
  if (!equals(cabin, reservation.cabin)) return undefined
  return reservation.flights.find(
    ({ flight_number, date }) => flight_number === info.flight_number && date === info.date,
  )
}

function total(flights: readonly ReservationFlight[]): bigint {
  return flights.reduce((sum, { price }) => sum + price, 0n)
}

/** Pays for a change of a reservation; a gift card is charged before the payment is checked, as in tau2. */
function payForUpdate(
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
function checkPayments(
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
function deduct(user: AirlineUser, payments: readonly Payment[]): void {
  for (const { payment_id, amount } of payments) {
    const method = user.payment_methods.get(payment_id)
    if (!method) throw keyError(payment_id)
    if (method.source === 'gift_card') method.amount = subtract(method.amount, amount)
    else if (method.source === 'certificate') user.payment_methods.delete(payment_id)
  }
}
