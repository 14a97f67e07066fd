/** The user's database of the telecom domain: a phone, and what is around it. */
import { defaults, type Model, model, orNone } from '../model/model.ts'
import { bool, dictType, enumOf, float, int, optionalType, strType } from '../model/types.ts'
import type { Instance, Value } from '../python/value.ts'
import type { DatabaseType } from '../state/base.ts'

/** The settings of the access point. */
export interface ApnSettings extends Instance {
  apn_name: string
  reset_at_reboot: boolean
  mms_apn: string | null
  mmsc_url: string | null
  mms_proxy: string | null
  mms_port: bigint | null
}

/** What is known of a VPN connection. */
export interface VpnDetails extends Instance {
  server_address: string | null
  protocol: string | null
  server_performance: string
}

/** What an app may do. */
export interface AppPermissions extends Instance {
  sms: boolean
  storage: boolean
  phone: boolean
  network: boolean
}

/** An app. */
export interface AppStatus extends Instance {
  app_name: string
  permissions: AppPermissions
}

/** The phone. What set-up functions and tools assign is not checked, so some fields may hold anything. */
export interface Phone extends Instance {
  sim_card_status: string
  sim_card_missing: boolean
  airplane_mode: boolean
  network_signal_strength: string
  network_technology_connected: string
  network_connection_status: string
  battery_level: bigint
  data_enabled: boolean
  roaming_enabled: boolean
  network_mode_preference: Value
  active_apn_settings: Value
  wifi_enabled: boolean
  wifi_connected: boolean
  wifi_ssid: string | null
  wifi_signal_strength: string
  wifi_calling_enabled: boolean
  wifi_calling_mms_over_wifi: Value
  data_saver_mode: boolean
  vpn_enabled_setting: boolean
  vpn_connected: boolean
  vpn_details: VpnDetails | null
  app_statuses: Map<string, AppStatus>
}

/** A bill that the user is asked to pay. */
interface PaymentRequest extends Instance {
  bill_id: string
  amount_due: number
  paid: boolean
}

/** Where the user is and what the network grants. */
export interface PhoneSurroundings extends Instance {
  name: Value
  phone_number: Value
  is_abroad: Value
  roaming_allowed: boolean
  signal_strength: ReadonlyMap<string, string>
  mobile_data_usage_exceeded: boolean
  line_active: boolean
  payment_request: PaymentRequest | null
}

/** The network modes that a phone may prefer. */
export const networkModes = ['4g_5g_preferred', '4g_only', '3g_only', '2g_only'] as const

/** The states of a network connection. */
export const networkStatuses = ['connected', 'searching', 'no_service', 'emergency_only'] as const

const forbid = { extra: 'forbid' } as const
const off = defaults(bool, () => false)
const strength = enumOf(['none', 'poor', 'fair', 'good', 'excellent'])
const technology = enumOf(['none', '2G', '3G', '4G', '5G'])

/** The model of the settings of the access point. */
export const apnModel: Model<ApnSettings> = model<ApnSettings>(
  'APNSettings',
  {
    apn_name: defaults(enumOf(['internet', 'broken']), () => 'internet'),
    reset_at_reboot: off,
    mms_apn: defaults(optionalType(strType), () => 'mms'),
    mmsc_url: defaults(optionalType(strType), () => 'http://mms.carrier.com/mms/wapenc'),
    mms_proxy: orNone(optionalType(strType)),
    mms_port: orNone(optionalType(int)),
  },
  forbid,
)

/** The model of a VPN connection. */
export const vpnModel: Model<VpnDetails> = model<VpnDetails>(
  'VpnDetails',
  {
    server_address: orNone(optionalType(strType)),
    protocol: orNone(optionalType(strType)),
    server_performance: defaults(
      enumOf(['unknown', 'poor', 'fair', 'good', 'excellent']),
      () => 'unknown',
    ),
  },
  forbid,
)

const permissions: Model<AppPermissions> = model<AppPermissions>(
  'AppPermissions',
  { sms: off, storage: off, phone: off, network: off },
  forbid,
)
const app: Model<AppStatus> = model<AppStatus>(
  'AppStatus',
  { app_name: strType, permissions: defaults(permissions, () => permissions.create({})) },
  forbid,
)

const phone: Model<Phone> = model<Phone>(
  'MockPhoneAttributes',
  {
    sim_card_status: defaults(
      enumOf(['active', 'missing', 'locked_pin', 'locked_puk']),
      () => 'active',
    ),
    sim_card_missing: off,
    airplane_mode: off,
    network_signal_strength: defaults(strength, () => 'good'),
    network_technology_connected: defaults(technology, () => '5G'),
    network_connection_status: defaults(enumOf(networkStatuses), () => 'connected'),
    battery_level: defaults(int, () => 80n),
    data_enabled: defaults(bool, () => true),
    roaming_enabled: off,
    network_mode_preference: defaults(enumOf(networkModes), () => '4g_5g_preferred'),
    active_apn_settings: defaults(apnModel, () => apnModel.create({})),
    wifi_enabled: off,
    wifi_connected: off,
    wifi_ssid: orNone(optionalType(strType)),
    wifi_signal_strength: defaults(strength, () => 'none'),
    wifi_calling_enabled: off,
    wifi_calling_mms_over_wifi: off,
    data_saver_mode: off,
    vpn_enabled_setting: off,
    vpn_connected: off,
    vpn_details: orNone(optionalType(vpnModel)),
    app_statuses: defaults(dictType(app), usualApps),
  },
  forbid,
)

function usualApps(): Value {
  const make = (app_name: string, ...granted: readonly string[]): [string, Value] => {
    const allowed = Object.fromEntries(granted.map((name) => [name, true]))
    return [app_name, app.create({ app_name, permissions: permissions.create(allowed) })]
  }
  return new Map([
    make('messaging', 'sms', 'storage', 'phone'),
    make('browser', 'network', 'storage'),
  ])
}

/** The model of a payment request. */
export const paymentRequestModel: Model<PaymentRequest> = model<PaymentRequest>(
  'PaymentRequest',
  { bill_id: strType, amount_due: float, paid: off },
  forbid,
)

const usualSignals = [
  ['2G', 'poor'],
  ['3G', 'fair'],
  ['4G', 'good'],
  ['5G', 'excellent'],
] as const

const surroundings: Model<PhoneSurroundings> = model<PhoneSurroundings>(
  'UserSurroundings',
  {
    name: orNone(optionalType(strType)),
    phone_number: orNone(optionalType(strType)),
    is_abroad: off,
    roaming_allowed: off,
    signal_strength: defaults(dictType(strength, technology), () => new Map(usualSignals)),
    mobile_data_usage_exceeded: off,
    line_active: defaults(bool, () => true),
    payment_request: orNone(optionalType(paymentRequestModel)),
  },
  forbid,
)

/** The user's database. */
export const telecomUserDatabase: DatabaseType = {
  name: 'TelecomUserDB',
  tables: {
    device: { shape: 'one', row: phone, absent: () => new Map() },
    surroundings: { shape: 'one', row: surroundings, absent: () => new Map() },
  },
}
