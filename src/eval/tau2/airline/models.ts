import { type Model, model, orNone } from '../model/model.ts'
import {
  dictType,
  float,
  int,
  listType,
  literal,
  optionalType,
  strType,
  union,
} from '../model/types.ts'
import type { Numeric } from '../python/arithmetic.ts'
import type { Instance, Value } from '../python/value.ts'
import type { DatabaseType } from '../state/base.ts'

/** An airport. */
export interface AirportCode extends Instance {
  iata: string
  city: string
}

/** A person's name. */
interface Name extends Instance {
  first_name: string
  last_name: string
}

/** A postal address. */
interface AirlineAddress extends Instance {
  address1: string
  address2: string | null
  city: string
  country: string
  state: string
  zip: string
}

/** A payment, in whole dollars. */
export interface Payment extends Instance {
  payment_id: string
  amount: bigint
}

/** A credit card. */
interface AirlineCreditCard extends Instance {
  source: 'credit_card'
  id: string
  brand: string
  last_four: string
}

/** A gift card. */
interface AirlineGiftCard extends Instance {
  source: 'gift_card'
  id: string
  amount: Numeric
}

/** A certificate, which is used up by one booking. */
interface Certificate extends Instance {
  source: 'certificate'
  id: string
  amount: Numeric
}

/** What a user pays with. */
export type AirlinePaymentMethod = AirlineCreditCard | AirlineGiftCard | Certificate

/** A passenger. */
interface Passenger extends Instance {
  first_name: string
  last_name: string
  dob: string
}

/** A departure that can be booked. */
export interface Available extends Instance {
  status: 'available'
  available_seats: Map<string, bigint>
  prices: ReadonlyMap<string, bigint>
}

/** A departure that cannot be booked. */
export interface Unavailable extends Instance {
  status: 'landed' | 'cancelled' | 'delayed' | 'flying' | 'on time'
}

/** A flight with its departures by date. */
export interface Flight extends Instance {
  flight_number: string
  origin: string
  destination: string
  scheduled_departure_time_est: string
  scheduled_arrival_time_est: string
  dates: Map<string, Available | Unavailable>
}

/** A departure as a search shows it. */
export interface DirectFlight extends Instance {
  flight_number: string
  origin: string
  destination: string
  status: 'available'
  scheduled_departure_time_est: string
  scheduled_arrival_time_est: string
  date: Value
  available_seats: ReadonlyMap<string, bigint>
  prices: ReadonlyMap<string, bigint>
}

/** A flight of a reservation. */
export interface ReservationFlight extends Instance {
  flight_number: string
  origin: string
  destination: string
  date: string
  price: bigint
}

/** A flight as a caller names it. */
export interface FlightInfo extends Instance {
  flight_number: string
  date: string
}

/** A customer. */
export interface AirlineUser extends Instance {
  user_id: string
  name: Name
  address: AirlineAddress
  email: string
  dob: string
  payment_methods: Map<string, AirlinePaymentMethod>
  saved_passengers: Passenger[]
  membership: string
  reservations: Value[]
}

/** A reservation. What tools assign to it is not checked, so some fields may hold anything. */
export interface Reservation extends Instance {
  reservation_id: string
  user_id: string
  origin: string
  destination: string
  flight_type: string
  cabin: Value
  flights: ReservationFlight[]
  passengers: Value
  payment_history: Payment[]
  created_at: string
  total_baggages: Value
  nonfree_baggages: Value
  insurance: string
  status: string | null
}

/** The model of an airport. */
export const airportModel: Model<AirportCode> = model<AirportCode>('AirportCode', {
  iata: strType,
  city: strType,
})

const name: Model<Name> = model<Name>('Name', { first_name: strType, last_name: strType })
const address: Model<AirlineAddress> = model<AirlineAddress>('Address', {
  address1: strType,
  address2: orNone(optionalType(strType)),
  city: strType,
  country: strType,
  state: strType,
  zip: strType,
})

/** The model of a payment. */
export const airlinePaymentModel: Model<Payment> = model<Payment>('Payment', {
  payment_id: strType,
  amount: int,
})

const creditCard: Model<AirlineCreditCard> = model<AirlineCreditCard>('CreditCard', {
  source: literal('credit_card'),
  id: strType,
  brand: strType,
  last_four: strType,
})
const giftCard: Model<AirlineGiftCard> = model<AirlineGiftCard>('GiftCard', {
  source: literal('gift_card'),
  id: strType,
  amount: float,
})

/** The model of a certificate. */
export const certificateModel: Model<Certificate> = model<Certificate>('Certificate', {
  source: literal('certificate'),
  id: strType,
  amount: float,
})

/** The model of a passenger. */
export const passengerModel: Model<Passenger> = model<Passenger>('Passenger', {
  first_name: strType,
  last_name: strType,
  dob: strType,
})

const cabin = literal('business', 'economy', 'basic_economy')
const perCabin = dictType(int, cabin)

const available: Model<Available> = model<Available>('FlightDateStatusAvailable', {
  status: literal('available'),
  available_seats: perCabin,
  prices: perCabin,
})

/** The other states of a departure, in tau2's order, each with the times that it has. */
const others = [
  ['FlightDateStatusLanded', 'landed', 'actual_departure_time_est', 'actual_arrival_time_est'],
  ['FlightDateStatusCancelled', 'cancelled'],
  [
    'FlightDateStatusDelayed',
    'delayed',
    'estimated_departure_time_est',
    'estimated_arrival_time_est',
  ],
  ['FlightDataStatusFlying', 'flying', 'actual_departure_time_est', 'estimated_arrival_time_est'],
  [
    'FlightDataStatusOnTime',
    'on time',
    'estimated_departure_time_est',
    'estimated_arrival_time_est',
  ],
] as const
const unavailable = others.map(([title, status, ...times]) =>
  model<Unavailable>(title, {
    status: literal(status),
    ...Object.fromEntries(times.map((time) => [time, strType])),
  }),
)

const flight: Model<Flight> = model<Flight>('Flight', {
  flight_number: strType,
  origin: strType,
  destination: strType,
  scheduled_departure_time_est: strType,
  scheduled_arrival_time_est: strType,
  dates: dictType(union(available, ...unavailable)),
})

/** The model of what a search finds. */
export const directFlightModel: Model<DirectFlight> = model<DirectFlight>('DirectFlight', {
  flight_number: strType,
  origin: strType,
  destination: strType,
  status: literal('available'),
  scheduled_departure_time_est: strType,
  scheduled_arrival_time_est: strType,
  date: orNone(optionalType(strType)),
  available_seats: perCabin,
  prices: perCabin,
})

/** The model of a flight of a reservation. */
export const reservationFlightModel: Model<ReservationFlight> = model<ReservationFlight>(
  'ReservationFlight',
  { flight_number: strType, origin: strType, destination: strType, date: strType, price: int },
)

/** The model of a flight as a caller names it. */
export const flightInfoModel: Model<FlightInfo> = model<FlightInfo>('FlightInfo', {
  flight_number: strType,
  date: strType,
})

const user: Model<AirlineUser> = model<AirlineUser>('User', {
  user_id: strType,
  name,
  address,
  email: strType,
  dob: strType,
  payment_methods: dictType(union(creditCard, giftCard, certificateModel)),
  saved_passengers: listType(passengerModel),
  membership: literal('gold', 'silver', 'regular'),
  reservations: listType(strType),
})

/** The model of a reservation. */
export const reservationModel: Model<Reservation> = model<Reservation>('Reservation', {
  reservation_id: strType,
  user_id: strType,
  origin: strType,
  destination: strType,
  flight_type: literal('round_trip', 'one_way'),
  cabin,
  flights: listType(reservationFlightModel),
  passengers: listType(passengerModel),
  payment_history: listType(airlinePaymentModel),
  created_at: strType,
  total_baggages: int,
  nonfree_baggages: int,
  insurance: literal('yes', 'no'),
  status: orNone(optionalType(literal('cancelled'))),
})

/** The database of the airline domain. */
export const airlineDatabase: DatabaseType = {
  name: 'FlightDB',
  tables: {
    flights: { shape: 'dict', row: flight },
    users: { shape: 'dict', row: user },
    reservations: { shape: 'dict', row: reservationModel },
  },
}
