import type { Json, JsonObject } from '../../../protocol/types.ts'
import type { ToolFunction, ToolModule } from '../functions.ts'
import {
  type Arguments,
  addBags,
  bookFlight,
  bookingOf,
  cancelBooking,
  changeCabin,
  changeFlight,
  customerOf,
  flightOf,
  readArguments,
} from './desk.ts'
import type { KestrelState } from './state.ts'

type Tool = ToolFunction<KestrelState, null>

const text = (description: string): JsonObject => ({ type: 'string', description })
const count = (description: string): JsonObject => ({ type: 'integer', minimum: 0, description })
const cabin: JsonObject = {
  type: 'string',
  enum: ['light', 'economy', 'business'],
  description: 'Cabin',
}
const bookingRef = text('Booking reference, such as BK1001')
const customerId = text('Customer id, such as mira-holt')
const flightId = text('Flight id, such as KE110-0305')

/** The tools of the airline desk. They keep the books; whether something is allowed is for the agent to know. */
export const kestrelModule: ToolModule<KestrelState, null> = {
  tools: {
    find_customer: read(
      'Find a customer by e-mail address.',
      { email: text('E-mail address') },
      (args, state) => {
        const found = Object.entries(state.customers).find(
          ([, { email }]) => email === args.text('email').toLowerCase(),
        )
        if (!found) throw new Error('No customer has this e-mail address')
        return { customer_id: found[0], ...found[1] }
      },
    ),
    get_customer: read(
      'Get a customer: name, tier, bookings, vouchers.',
      { customer_id: customerId },
      (args, state) => ({
        customer_id: args.text('customer_id'),
        ...customerOf(state, args),
      }),
    ),
    get_booking: read('Get a booking.', { booking_ref: bookingRef }, (args, state) => ({
      booking_ref: args.text('booking_ref'),
      ...bookingOf(state, args),
    })),
    get_flight: read(
      'Get a flight: times, status, free seats, fares.',
      { flight_id: flightId },
      (args, state) => ({
        flight_id: args.text('flight_id'),
        ...flightOf(state, args.text('flight_id')),
      }),
    ),
    search_flights: read(
      'Find the flights of a route on a day.',
      { from: text('Airport code'), to: text('Airport code'), date: text('Day, YYYY-MM-DD') },
      (args, state) =>
        Object.entries(state.flights)
          .filter(
            ([, f]) =>
              f.from === args.text('from') &&
              f.to === args.text('to') &&
              f.date === args.text('date'),
          )
          .map(([flight_id, found]) => ({ flight_id, ...found })),
    ),
    book_flight: write(
      'Book a flight.',
      {
        customer_id: customerId,
        flight_id: flightId,
        cabin,
        passengers: {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          description: 'Full names',
        },
        bags: count('Bags in all'),
        insurance: { type: 'boolean', description: 'Whether the booking is insured' },
      },
      bookFlight,
    ),
    change_flight: write(
      'Move a booking to another flight.',
      { booking_ref: bookingRef, flight_id: flightId },
      changeFlight,
    ),
    change_cabin: write(
      'Move a booking to another cabin.',
      { booking_ref: bookingRef, cabin },
      changeCabin,
    ),
    add_bags: write(
      'Set the number of bags of a booking.',
      {
        booking_ref: bookingRef,
        bags: count('Bags in all, those already booked included'),
        paid_bags: count('How many of the added bags are to be paid, at 40 each'),
      },
      addBags,
    ),
    cancel_booking: write(
      'Cancel a booking with a full refund.',
      { booking_ref: bookingRef },
      cancelBooking,
    ),
    issue_voucher: write(
      'Give a customer a voucher.',
      {
        customer_id: customerId,
        amount: { type: 'integer', minimum: 1, description: 'Euro' },
        reason: {
          type: 'string',
          enum: ['cancelled', 'delayed'],
          description: 'What happened to the flight',
        },
      },
      (args, state) => {
        const voucher = { amount: args.integer('amount'), reason: args.text('reason') }
        customerOf(state, args).vouchers.push(voucher)
        return voucher
      },
    ),
    hand_over: {
      ...read(
        'Hand the customer over to a person.',
        { summary: text('What it is about') },
        () => 'The customer has been handed over',
      ),
      kind: 'generic',
    },
  },
}

type Run = (args: Arguments, state: KestrelState) => unknown

function read(description: string, properties: JsonObject, run: Run): Tool {
  return { ...write(description, properties, run), kind: 'read' }
}

function write(description: string, properties: JsonObject, run: Run): Tool {
  return {
    description,
    parameters: {
      type: 'object',
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
    },
    kind: 'write',
    // The airline's state is plain JSON, and so is every part of it that a tool gives back.
    run: (args, world) => structuredClone(run(readArguments(args), world.agent)) as Json,
  }
}
