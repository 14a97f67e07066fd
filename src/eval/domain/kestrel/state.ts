/** A class of seats; `light` cannot be changed and has no free bag. */
export type Cabin = 'light' | 'economy' | 'business'

/** A customer of Kestrel Air. */
export interface KestrelCustomer {
  readonly name: string
  readonly email: string
  readonly tier: 'standard' | 'silver' | 'gold'
  bookings: string[]
  vouchers: { amount: number; reason: string }[]
}

/** One departure. Fares are per passenger, in euro. */
export interface KestrelFlight {
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

/** A booking of one flight for some passengers. */
export interface Booking {
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

/** All that Kestrel Air knows. */
export interface KestrelState {
  readonly now: string
  customers: Record<string, KestrelCustomer>
  flights: Record<string, KestrelFlight>
  bookings: Record<string, Booking>
}

const regular = { light: 79, economy: 119, business: 340 }
const long = { light: 149, economy: 219, business: 690 }

/** The airline as it is at the beginning of every task. */
export const kestrelState: KestrelState = {
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
