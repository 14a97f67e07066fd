/** How the airline's tools find things; each raises in tau2's words where there is nothing. */
import { isLess } from '../python/arithmetic.ts'
import { valueError } from '../python/error.ts'
import { keyOf } from '../python/methods.ts'
import { str } from '../python/text.ts'
import type { Value } from '../python/value.ts'
import type { SharedRow, Table } from '../state/table.ts'
import type { Self } from '../toolkit.ts'
import {
  type AirlineUser,
  type Available,
  type DirectFlight,
  directFlightModel,
  type Flight,
  type Reservation,
  type Unavailable,
} from './models.ts'

/** The flights. */
export const flightsOf = ({ db }: Self): Table<Flight> => db.table('flights')

/** The users. */
export const airlineUsersOf = ({ db }: Self): Table<AirlineUser> => db.table('users')

/** The reservations. */
export const reservationsOf = ({ db }: Self): Table<Reservation> => db.table('reservations')

/** A user to read. */
export function getAirlineUser(self: Self, id: Value): SharedRow<AirlineUser> {
  const user = airlineUsersOf(self).get(id)
  if (!user) throw valueError(`User ${str(id)} not found`)
  return user
}

/** A reservation to read. */
export function getReservation(self: Self, id: Value): SharedRow<Reservation> {
  const reservation = reservationsOf(self).get(id)
  if (!reservation) throw valueError(`Reservation ${str(id)} not found`)
  return reservation
}

/** A flight to read. */
export function getFlight(self: Self, number: Value): SharedRow<Flight> {
  const flight = flightsOf(self).get(number)
  if (!flight) throw valueError(`Flight ${str(number)} not found`)
  return flight
}

/** A departure to read. */
export function getDeparture(
  self: Self,
  number: Value,
  date: Value,
): SharedRow<Available> | SharedRow<Unavailable> {
  const { dates } = getFlight(self, number)
  const key = keyOf(date)
  const found = key === undefined ? undefined : dates.get(key)
  if (!found) throw valueError(`Flight ${str(number)} not found on date ${str(date)}`)
  return found
}

/** A departure that can be booked. */
export function getAvailable(self: Self, number: string, date: string): SharedRow<Available> {
  const found = getDeparture(self, number, date)
  if (found.status === 'available') return found
  throw valueError(`Flight ${number} not available on date ${date}`)
}

/** What a search asks for; what is absent matches everything. */
interface Search {
  readonly date: Value
  readonly origin?: Value
  readonly destination?: Value
  readonly leaveAfter?: string
}

/** The departures that fit, in the order of the file. */
export function searchDirect(self: Self, search: Search): DirectFlight[] {
  const found: DirectFlight[] = []
  for (const flight of flightsOf(self).values()) {
    if (!fits(flight, search)) continue
    const date = keyOf(search.date)
    const departure = date === undefined ? undefined : flight.dates.get(date)
    if (departure?.status !== 'available') continue
    const departs = flight.scheduled_departure_time_est
    if (search.leaveAfter !== undefined && isLess(departs, search.leaveAfter)) continue
    found.push(toDirectFlight(flight, departure))
  }
  return found
}

function fits(flight: SharedRow<Flight>, { origin, destination }: Search): boolean {
  const isFrom = origin === undefined || origin === null || flight.origin === origin
  const isTo =
    destination === undefined || destination === null || flight.destination === destination
  return isFrom && isTo
}

function toDirectFlight(flight: SharedRow<Flight>, departure: SharedRow<Available>): DirectFlight {
  return directFlightModel.create({
    flight_number: flight.flight_number,
    origin: flight.origin,
    destination: flight.destination,
    status: 'available',
    scheduled_departure_time_est: flight.scheduled_departure_time_est,
    scheduled_arrival_time_est: flight.scheduled_arrival_time_est,
    available_seats: departure.available_seats,
    prices: departure.prices,
  })
}
