import { calculateFor } from '../calculator.ts'
import { type DomainKind, plainPolicy } from '../kind.ts'
import type { Value } from '../python/value.ts'
import { defineToolkit, type Self, type Toolkit } from '../toolkit.ts'
import { airlineChanges } from './changes.ts'
import { getAirlineUser, getDeparture, getReservation, searchDirect } from './lookup.ts'
import { type AirportCode, airlineDatabase, airportModel } from './models.ts'
import { airlineWords } from './words.ts'

const airports = [
  ['SFO', 'San Francisco'],
  ['JFK', 'New York'],
  ['LAX', 'Los Angeles'],
  ['ORD', 'Chicago'],
  ['DFW', 'Dallas'],
  ['DEN', 'Denver'],
  ['SEA', 'Seattle'],
  ['ATL', 'Atlanta'],
  ['MIA', 'Miami'],
  ['BOS', 'Boston'],
  ['PHX', 'Phoenix'],
  ['IAH', 'Houston'],
  ['LAS', 'Las Vegas'],
  ['MCO', 'Orlando'],
  ['EWR', 'Newark'],
  ['CLT', 'Charlotte'],
  ['MSP', 'Minneapolis'],
  ['DTW', 'Detroit'],
  ['PHL', 'Philadelphia'],
  ['LGA', 'LaGuardia'],
] as const

/** The tools of the airline domain. */
const airlineTools: Toolkit = defineToolkit({
  name: 'AirlineTools',
  words: airlineWords,
  tools: {
    ...airlineChanges,
    calculate: (_, { expression }) => calculateFor(expression),
    get_flight_status: (self, { flight_number, date }) =>
      getDeparture(self, flight_number, date).status,
    get_reservation_details: (self, { reservation_id }) => getReservation(self, reservation_id),
    get_user_details: (self, { user_id }) => getAirlineUser(self, user_id),
    list_all_airports: listAirports,
    search_direct_flight: searchDirect,
    search_onestop_flight: (self, { origin, destination, date }) =>
      searchOneStop(self, { origin, destination, date }),
    transfer_to_human_agents: () => 'Transfer successful',
  },
})

/** All airports. */
function listAirports(): AirportCode[] {
  return airports.map(([iata, city]) => airportModel.create({ iata, city }))
}

/** Pairs of flights. The day after is `2024-05-` and a number without a leading zero: so it is in tau2. */
function searchOneStop(
  self: Self,
  { origin, destination, date }: { readonly [K in 'origin' | 'destination' | 'date']: Value },
): Value {
  return searchDirect(self, { date, origin }).flatMap((first) => {
    first.date = date
    const arrives = first.scheduled_arrival_time_est
    const next = arrives.includes('+1') ? `2024-05-${Number(String(date).slice(-2)) + 1}` : date
    const search = { date: next, origin: first.destination, destination, leaveAfter: arrives }
    return searchDirect(self, search).map((second) => {
      second.date = next
      return [first, second]
    })
  })
}

/** tau2's airline domain: reservations that are booked, changed and cancelled. */
export const airlineKind: DomainKind = {
  name: 'airline',
  folder: 'airline',
  policy: plainPolicy,
  agent: { toolkit: airlineTools, database: airlineDatabase, file: 'db.json' },
}
