import type { Json, JsonObject } from '../../../protocol/types.ts'
import type { Booking, Cabin, KestrelCustomer, KestrelFlight, KestrelState } from './state.ts'

/** Books seats and writes the booking down. */
export function bookFlight(args: Arguments, state: KestrelState): Json {
  const chosen = args.text('cabin') as Cabin // one of the three, by the tool's schema
  const passengers = args.texts('passengers')
  const insured = args.flag('insurance')
  const flight = flightOf(state, args.text('flight_id'))
  takeSeats(flight, chosen, passengers.length)
  const ref = `BK${1001 + Object.keys(state.bookings).length}`
  const customer = customerOf(state, args)
  const booking: Booking = {
    customer_id: args.text('customer_id'),
    flight_id: args.text('flight_id'),
    cabin: chosen,
    passengers,
    bags: args.integer('bags'),
    insured,
    booked_at: state.now,
    paid: passengers.length * (flight.fares[chosen] + (insured ? 25 : 0)),
    status: 'confirmed',
  }
  state.bookings[ref] = booking
  customer.bookings.push(ref)
  return { booking_ref: ref, ...booking }
}

/** Moves a booking to another flight of its route. */
export function changeFlight(args: Arguments, state: KestrelState): Json {
  const booking = openBookingOf(state, args)
  const [from, to] = [flightOf(state, booking.flight_id), flightOf(state, args.text('flight_id'))]
  if (from.from !== to.from || from.to !== to.to) throw new Error('The flight is of another route')
  takeSeats(to, booking.cabin, booking.passengers.length)
  from.seats[booking.cabin] += booking.passengers.length
  booking.flight_id = args.text('flight_id')
  return { booking_ref: args.text('booking_ref'), ...booking }
}

/** Moves a booking to another cabin of its flight, at the difference of the fares. */
export function changeCabin(args: Arguments, state: KestrelState): Json {
  const booking = openBookingOf(state, args)
  const chosen = args.text('cabin') as Cabin // one of the three, by the tool's schema
  const flight = flightOf(state, booking.flight_id)
  const seats = booking.passengers.length
  takeSeats(flight, chosen, seats)
  flight.seats[booking.cabin] += seats
  booking.paid += seats * (flight.fares[chosen] - flight.fares[booking.cabin])
  booking.cabin = chosen
  return { booking_ref: args.text('booking_ref'), ...booking }
}

/** Sets the number of bags; those to be paid cost 40 each. */
export function addBags(args: Arguments, state: KestrelState): Json {
  const booking = openBookingOf(state, args)
  if (args.integer('bags') < booking.bags) throw new Error('Bags cannot be taken away')
  booking.bags = args.integer('bags')
  booking.paid += 40 * args.integer('paid_bags')
  return { booking_ref: args.text('booking_ref'), ...booking }
}

/** Cancels a booking, frees its seats, gives back what was paid. */
export function cancelBooking(args: Arguments, state: KestrelState): Json {
  const booking = openBookingOf(state, args)
  flightOf(state, booking.flight_id).seats[booking.cabin] += booking.passengers.length
  booking.status = 'cancelled'
  return { booking_ref: args.text('booking_ref'), refund: booking.paid, status: booking.status }
}

function takeSeats(flight: KestrelFlight, chosen: Cabin, seats: number): void {
  if (flight.status !== 'scheduled') throw new Error(`The flight is ${flight.status}`)
  if (flight.seats[chosen] < seats) throw new Error(`Not enough seats in ${chosen}`)
  flight.seats[chosen] -= seats
}

/** The customer that a call names. */
export function customerOf(state: KestrelState, args: Arguments): KestrelCustomer {
  const found = state.customers[args.text('customer_id')]
  if (!found) throw new Error('No such customer')
  return found
}

/** The booking that a call names. */
export function bookingOf(state: KestrelState, args: Arguments): Booking {
  const found = state.bookings[args.text('booking_ref')]
  if (!found) throw new Error('No such booking')
  return found
}

function openBookingOf(state: KestrelState, args: Arguments): Booking {
  const found = bookingOf(state, args)
  if (found.status === 'cancelled') throw new Error('The booking is already cancelled')
  return found
}

/** A flight by its id. */
export function flightOf(state: KestrelState, id: string): KestrelFlight {
  const found = state.flights[id]
  if (!found) throw new Error('No such flight')
  return found
}

/** Reads a call's arguments by type; a wrong one is the caller's error. */
export interface Arguments {
  text(name: string): string
  texts(name: string): readonly string[]
  integer(name: string): number
  flag(name: string): boolean
}

/** Arguments of a call, read as they are asked for. */
export function readArguments(args: JsonObject): Arguments {
  const refuse = (name: string, type: string): never => {
    throw new Error(`${name} must be ${type}`)
  }
  return {
    text(name) {
      const value = args[name]
      return typeof value === 'string' ? value : refuse(name, 'a string')
    },
    texts(name) {
      const value = args[name]
      return Array.isArray(value) ? value.map(String) : refuse(name, 'a list of strings')
    },
    integer(name) {
      const value = args[name]
      return typeof value === 'number' && Number.isInteger(value)
        ? value
        : refuse(name, 'an integer')
    },
    flag(name) {
      const value = args[name]
      return typeof value === 'boolean' ? value : refuse(name, 'true or false')
    },
  }
}
