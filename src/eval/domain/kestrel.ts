import type { Json, JsonObject } from '../../protocol/types.ts'
import type { Domain } from './domain.ts'
import { defineDomain, type ToolFunction, type ToolModule } from './functions.ts'
import { kestrelTasks } from './kestrel-tasks.ts'

/** The rules of Kestrel Air's service desk: what the agent is sent and judged by. */
const kestrelPolicy = `# Kestrel Air service desk

You help customers of Kestrel Air with their bookings. The time is 2026-03-02 09:00. All amounts are in euro.

## How to work
- Learn the customer id (or find it by e-mail) before you speak about a booking.
- Before you change anything, say what you will do and what it costs, and get a clear yes.
- Do one thing at a time: either call tools or speak to the customer.
- Say only what the tools and this page tell you. Give amounts as plain numbers.
- Hand over to a person only what no tool and no rule here covers.

## Cancelling
A booking may be cancelled, with a full refund, if one of these holds:
- it was made less than 24 hours ago;
- Kestrel Air has cancelled the flight;
- it is in business;
- it is insured and the reason is illness or weather.
In every other case refuse. A flight that has departed can never be cancelled or changed.

## Changing
- A booking in economy or business may move to another flight of the same route and cabin, without a fee.
- A booking in light cannot move. It may be raised to a higher cabin first, and then move.
- A cabin may be raised, never lowered. It costs the difference of the fares, for each passenger.

## Bags
Free bags for each passenger: light 0, economy 1, business 2; silver customers get 1 more, gold customers 2 more.
Every further bag costs 40.

## Vouchers
Offer nothing on your own. If a customer complains about a cancelled flight, a voucher of 100 for each passenger is
due; about a delayed flight, 50 for each passenger. Only silver and gold customers, insured bookings and bookings in
business are entitled.

## Booking
Ask for flight, cabin, passengers, bags and whether they want insurance (25 for each passenger).
`

const regular = { light: 79, economy: 119, business: 340 }
const long = { light: 149, economy: 219, business: 690 }

/** All that Kestrel Air knows. */
interface KestrelState {
  readonly now: string
  customers: Record<string, KestrelCustomer>
  flights: Record<string, KestrelFlight>
  bookings: Record<string, Booking>
}

interface KestrelCustomer {
  readonly name: string
  readonly email: string
  readonly tier: 'standard' | 'silver' | 'gold'
  bookings: string[]
  vouchers: { amount: number; reason: string }[]
}

/** One departure. Fares are per passenger, in euro. */
interface KestrelFlight {
  readonly number: string
  readonly date: string
  readonly from: string
  readonly to: string
  readonly departs: string
  readonly arrives: string
  readonly status: 'scheduled' | 'delayed' | 'cancelled' | 'departed'
  seats: Record<Cabin, number>
  readonly fares: Readonly<Record<Cabin, number>>
}

/** A class of seats; `light` cannot be changed and has no free bag. */
type Cabin = 'light' | 'economy' | 'business'

/** A booking of one flight for some passengers. */
interface Booking {
  readonly customer_id: string
  flight_id: string
  cabin: Cabin
  readonly passengers: readonly string[]
  bags: number
  readonly insured: boolean
  readonly booked_at: string
  paid: number
  status: 'confirmed' | 'cancelled'
}

/** The airline as it is at the beginning of every task. */
const kestrelState: KestrelState = {
  now: '2026-03-02T09:00',
  customers: {
    'mira-holt': customer('Mira Holt', 'standard', ['BK1001', 'BK1002']),
    'jonas-vey': customer('Jonas Vey', 'silver', ['BK1003', 'BK1004']),
    'asha-rao': customer('Asha Rao', 'gold', ['BK1005', 'BK1006']),
    'pell-okoro': customer('Pell Okoro', 'standard', ['BK1007', 'BK1008']),
    'lina-marsh': customer('Lina Marsh', 'silver', ['BK1009']),
    'tomas-rey': customer('Tomas Rey', 'standard', ['BK1010', 'BK1011']),
    'ivy-chen': customer('Ivy Chen', 'gold', ['BK1012']),
    'noor-dahl': customer('Noor Dahl', 'standard', []),
  },
  flights: {
    'KE110-0305': flight('KE110', '2026-03-05', ['OSL', 'LIS', '07:45', '11:20']),
    'KE110-0307': flight('KE110', '2026-03-07', ['OSL', 'LIS', '07:45', '11:20']),
    'KE112-0305': flight('KE112', '2026-03-05', ['OSL', 'LIS', '16:10', '19:50']),
    'KE111-0309': flight('KE111', '2026-03-09', ['LIS', 'OSL', '12:30', '18:05']),
    'KE204-0304': {
      ...flight('KE204', '2026-03-04', ['VIE', 'DUB', '09:15', '11:05']),
      status: 'cancelled',
    },
    'KE204-0306': flight('KE204', '2026-03-06', ['VIE', 'DUB', '09:15', '11:05']),
    'KE305-0303': {
      ...flight('KE305', '2026-03-03', ['ATH', 'PRG', '13:40', '15:25']),
      status: 'delayed',
    },
    'KE305-0308': flight('KE305', '2026-03-08', ['ATH', 'PRG', '13:40', '15:25']),
    'KE701-0310': {
      ...flight('KE701', '2026-03-10', ['CDG', 'YUL', '10:05', '12:15']),
      fares: long,
    },
    'KE701-0312': {
      ...flight('KE701', '2026-03-12', ['CDG', 'YUL', '10:05', '12:15']),
      fares: long,
    },
    'KE110-0301': {
      ...flight('KE110', '2026-03-01', ['OSL', 'LIS', '07:45', '11:20']),
      status: 'departed',
    },
  },
  bookings: {
    BK1001: booking('mira-holt', 'KE110-0305', ['Mira Holt'], { booked_at: '2026-03-01T20:30' }),
    BK1002: booking('mira-holt', 'KE111-0309', ['Mira Holt']),
    BK1003: booking('jonas-vey', 'KE204-0304', ['Jonas Vey', 'Ella Vey']),
    BK1004: booking('jonas-vey', 'KE305-0308', ['Jonas Vey', 'Ella Vey']),
    BK1005: booking('asha-rao', 'KE305-0303', ['Asha Rao']),
    BK1006: booking('asha-rao', 'KE701-0310', ['Asha Rao'], { cabin: 'business', paid: 690 }),
    BK1007: booking('pell-okoro', 'KE305-0303', ['Pell Okoro']),
    BK1008: booking('pell-okoro', 'KE110-0305', ['Pell Okoro'], {
      cabin: 'light',
      bags: 0,
      paid: 79,
    }),
    BK1009: booking('lina-marsh', 'KE701-0312', ['Lina Marsh'], { insured: true, paid: 219 }),
    BK1010: booking('tomas-rey', 'KE204-0306', ['Tomas Rey'], { insured: true }),
    BK1011: booking('tomas-rey', 'KE110-0301', ['Tomas Rey']),
    BK1012: booking('ivy-chen', 'KE112-0305', ['Ivy Chen', 'Bo Chen'], { paid: 238 }),
  },
}

function customer(
  name: string,
  tier: KestrelCustomer['tier'],
  bookings: string[],
): KestrelCustomer {
  const email = `${name.toLowerCase().replace(' ', '.')}@example.com`
  return { name, email, tier, bookings, vouchers: [] }
}

function flight(
  number: string,
  date: string,
  route: [string, string, string, string],
): KestrelFlight {
  const [from, to, departs, arrives] = route
  return {
    number,
    date,
    from,
    to,
    departs,
    arrives,
    status: 'scheduled',
    seats: { light: 12, economy: 9, business: 4 },
    fares: regular,
  }
}

function booking(
  customer_id: string,
  flight_id: string,
  passengers: readonly string[],
  over: Partial<Booking> = {},
): Booking {
  return {
    customer_id,
    flight_id,
    cabin: 'economy',
    passengers,
    bags: passengers.length,
    insured: false,
    booked_at: '2026-02-10T14:00',
    paid: 119 * passengers.length,
    status: 'confirmed',
    ...over,
  }
}

const text = (description: string): JsonObject => ({ type: 'string', description })

const customerId = text('Customer id, such as mira-holt')
const bookingRef = text('Booking reference, such as BK1001')
const flightId = text('Flight id, such as KE110-0305')

const cabin: JsonObject = {
  type: 'string',
  enum: ['light', 'economy', 'business'],
  description: 'Cabin',
}

const count = (description: string): JsonObject => ({ type: 'integer', minimum: 0, description })

/** The tools of the airline desk. They keep the books; whether something is allowed is for the agent to know. */
const kestrelModule: ToolModule<KestrelState, null> = {
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
      (args, state) => ({ customer_id: args.text('customer_id'), ...customerOf(state, args) }),
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

type KestrelCall = (args: Arguments, state: KestrelState) => unknown

type KestrelTool = ToolFunction<KestrelState, null>

function read(description: string, properties: JsonObject, run: KestrelCall): KestrelTool {
  return { ...write(description, properties, run), kind: 'read' }
}

function write(description: string, properties: JsonObject, run: KestrelCall): KestrelTool {
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

type Arguments = ReturnType<typeof readArguments>

/** Reads a call's arguments by type; a wrong one is the caller's error. */
function readArguments(args: JsonObject) {
  const reader =
    <T>(type: string, is: (value: unknown) => value is T) =>
    (name: string): T => {
      const value = args[name]
      if (is(value)) return value
      throw new Error(`${name} must be ${type}`)
    }
  return {
    text: reader('a string', (value) => typeof value === 'string'),
    list: reader('a list of strings', (value) => Array.isArray(value)),
    integer: reader('an integer', (value): value is number => Number.isInteger(value)),
    flag: reader('true or false', (value) => typeof value === 'boolean'),
  }
}

function customerOf({ customers }: KestrelState, args: Arguments): KestrelCustomer {
  return find(customers, args.text('customer_id'), 'customer')
}

function bookingOf({ bookings }: KestrelState, args: Arguments): Booking {
  return find(bookings, args.text('booking_ref'), 'booking')
}

function flightOf({ flights }: KestrelState, id: string): KestrelFlight {
  return find(flights, id, 'flight')
}

function find<T>(all: Readonly<Record<string, T>>, id: string, what: string): T {
  const found = all[id]
  if (!found) throw new Error(`No such ${what}`)
  return found
}

/** Books seats and writes the booking down. */
function bookFlight(args: Arguments, state: KestrelState): Json {
  const chosen = args.text('cabin') as Cabin // one of the three, by the tool's schema
  const passengers = args.list('passengers').map(String)
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

function takeSeats(flight: KestrelFlight, chosen: Cabin, seats: number): void {
  if (flight.status !== 'scheduled') throw new Error(`The flight is ${flight.status}`)
  if (flight.seats[chosen] < seats) throw new Error(`Not enough seats in ${chosen}`)
  flight.seats[chosen] -= seats
}

/** Moves a booking to another flight of its route. */
function changeFlight(args: Arguments, state: KestrelState): Json {
  const booking = openBookingOf(state, args)
  const [from, to] = [flightOf(state, booking.flight_id), flightOf(state, args.text('flight_id'))]
  if (from.from !== to.from || from.to !== to.to) throw new Error('The flight is of another route')
  takeSeats(to, booking.cabin, booking.passengers.length)
  from.seats[booking.cabin] += booking.passengers.length
  booking.flight_id = args.text('flight_id')
  return { booking_ref: args.text('booking_ref'), ...booking }
}

function openBookingOf(state: KestrelState, args: Arguments): Booking {
  const found = bookingOf(state, args)
  if (found.status === 'cancelled') throw new Error('The booking is already cancelled')
  return found
}

/** Moves a booking to another cabin of its flight, at the difference of the fares. */
function changeCabin(args: Arguments, state: KestrelState): Json {
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
function addBags(args: Arguments, state: KestrelState): Json {
  const booking = openBookingOf(state, args)
  if (args.integer('bags') < booking.bags) throw new Error('Bags cannot be taken away')
  booking.bags = args.integer('bags')
  booking.paid += 40 * args.integer('paid_bags')
  return { booking_ref: args.text('booking_ref'), ...booking }
}

/** Cancels a booking, frees its seats, gives back what was paid. */
function cancelBooking(args: Arguments, state: KestrelState): Json {
  const booking = openBookingOf(state, args)
  flightOf(state, booking.flight_id).seats[booking.cabin] += booking.passengers.length
  booking.status = 'cancelled'
  return { booking_ref: args.text('booking_ref'), refund: booking.paid, status: booking.status }
}

/** The built-in domain: the service desk of Kestrel Air, twelve tools and twenty tasks, all invented here. */
export const kestrel: Domain = defineDomain({
  name: 'kestrel',
  policy: kestrelPolicy,
  tasks: kestrelTasks,
  splits: { base: kestrelTasks.map(({ id }) => id) },
  state: kestrelState,
  userState: null,
  module: kestrelModule,
})
