/** The phone of telecom's user: its parts, its status bar, and how it finds a network. */
import { attributeError } from '../python/error.ts'
import { roundHalfEven } from '../python/float.ts'
import { isTruthy, type Value } from '../python/value.ts'
import type { SharedRow } from '../state/table.ts'
import type { Self } from '../toolkit.ts'
import { type ApnSettings, apnModel, type Phone, type PhoneSurroundings } from './user-models.ts'

/** The phone, to read. */
export function phoneOf({ db }: Self): SharedRow<Phone> {
  const phone = db.table<Phone>('device').get(0)
  if (!phone) throw attributeError({ type: db.name }, 'device')
  return phone
}

/** The phone, to change. */
export function editPhone({ db }: Self): Phone {
  return db.table<Phone>('device').edit(0)
}

/** What is around the user, to read. */
export function surroundingsOf({ db }: Self): SharedRow<PhoneSurroundings> {
  const found = db.table<PhoneSurroundings>('surroundings').get(0)
  if (!found) throw attributeError({ type: db.name }, 'surroundings')
  return found
}

/** What is around the user, to change. */
export function editSurroundings({ db }: Self): PhoneSurroundings {
  return db.table<PhoneSurroundings>('surroundings').edit(0)
}

/** The phone's access point settings; a wrong value that was assigned raises when an attribute is read from it. */
export function apnOf(
  phone: { readonly active_apn_settings: Value },
  attribute: string,
): ApnSettings {
  const { active_apn_settings: settings } = phone
  if (!apnModel.is(settings)) throw attributeError(settings, attribute)
  return settings
}

/** The state of the SIM card. */
export function simStatus({ sim_card_missing, sim_card_status }: SharedRow<Phone>): string {
  return sim_card_missing ? 'missing' : sim_card_status
}

const signalIcons: Readonly<Record<string, string>> = {
  none: '📵 No Signal',
  poor: '📶¹ Poor',
  fair: '📶² Fair',
  good: '📶³ Good',
  excellent: '📶⁴ Excellent',
}

/** The icons of the status bar. */
export function statusBar(phone: SharedRow<Phone>): string {
  const icons = phone.airplane_mode ? ['✈️ Airplane Mode'] : cellularIcons(phone)
  if (phone.wifi_enabled && phone.wifi_connected)
    icons.push(phone.wifi_ssid ? `📡 Connected to ${phone.wifi_ssid}` : '📡 Enabled')
  if (phone.vpn_connected) icons.push('🔒 VPN Connected')
  icons.push(`🔋 ${phone.battery_level}%`)
  return icons.join(' | ')
}

function cellularIcons(phone: SharedRow<Phone>): string[] {
  const { network_technology_connected: technology } = phone
  const icons = [signalIcons[phone.network_signal_strength] ?? '📵 No Signal']
  if (technology !== 'none') icons.push(technology)
  if (!phone.data_enabled || technology === 'none') return [...icons, '📵 Data Disabled']
  icons.push('📱 Data Enabled')
  return phone.data_saver_mode ? [...icons, '🔽 Data Saver'] : icons
}

const technologies: Readonly<Record<string, string>> = {
  '4g_only': '4G',
  '3g_only': '3G',
  '2g_only': '2G',
}

/** Looks for a network: technology and strength follow from the SIM card, the preference and the surroundings. */
export function searchNetwork(self: Self): void {
  const [phone, around] = [editPhone(self), surroundingsOf(self)]
  const strengthOf = (technology: string): string =>
    around.signal_strength.get(technology) ?? 'none'
  if (simStatus(phone) === 'active') {
    const technology = preferred(phone.network_mode_preference, strengthOf('5G') !== 'none')
    phone.network_connection_status = 'connected'
    phone.network_technology_connected = technology
    phone.network_signal_strength = strengthOf(technology)
  } else disconnect(phone)
  if (phone.airplane_mode) disconnect(phone)
  if (apnOf(phone, 'apn_name').apn_name === 'broken') disconnect(phone)
  if (!around.line_active) disconnect(phone)
}

function preferred(preference: Value, has5G: boolean): string {
  if (preference === '4g_5g_preferred') return has5G ? '5G' : '4G'
  return (typeof preference === 'string' && technologies[preference]) || '4G'
}

function disconnect(phone: Phone): void {
  phone.network_connection_status = 'no_service'
  phone.network_technology_connected = 'none'
  phone.network_signal_strength = 'none'
}

/** Whether mobile data works, here and now. */
export function hasMobileData(self: Self): boolean {
  const [phone, around] = [phoneOf(self), surroundingsOf(self)]
  if (phone.airplane_mode || phone.network_signal_strength === 'none') return false
  if (phone.network_connection_status === 'no_service') return false
  if (isTruthy(around.is_abroad) && !(phone.roaming_enabled && around.roaming_allowed)) return false
  return phone.data_enabled && !around.mobile_data_usage_exceeded
}

/** Whether the messaging app can send pictures. */
export function canSendMms(self: Self): boolean {
  const phone = phoneOf(self)
  if (!hasMobileData(self) || phone.network_technology_connected === '2G') return false
  if (phone.wifi_calling_enabled && isTruthy(phone.wifi_calling_mms_over_wifi)) return false
  if (apnOf(phone, 'mmsc_url').mmsc_url === null) return false
  const app = phone.app_statuses.get('messaging')
  return app ? app.permissions.storage && app.permissions.sms : false
}

const speeds: Readonly<Record<string, readonly [number, number]>> = {
  '2G': [0.1, 0.4],
  '3G': [1, 5],
  '4G': [10, 100],
  '5G': [50, 500],
}
const factors: Readonly<Record<string, number>> = { poor: 0.2, fair: 0.5, good: 0.8, excellent: 1 }

/** The speed of mobile data in Mbit/s and a word for it; no speed without a connection. */
export function measureSpeed(self: Self): { readonly speed?: number; readonly word: string } {
  if (!hasMobileData(self)) return { word: 'No Connection' }
  const phone = phoneOf(self)
  const isSlowVpn = phone.vpn_connected && phone.vpn_details?.server_performance === 'poor'
  const base = (isSlowVpn ? 0.1 : 1) * (phone.data_saver_mode ? 0.2 : 1)
  const [least, most] = speeds[phone.network_technology_connected] ?? [0, 0]
  const factor = factors[phone.network_signal_strength] ?? 0
  const speed = Number(roundHalfEven(((least + most) / 2) * factor * base, 2))
  return { speed, word: wordFor(speed) }
}

function wordFor(speed: number): string {
  if (speed < 1) return 'Very Poor'
  if (speed < 5) return 'Poor'
  if (speed < 25) return 'Fair'
  return speed < 100 ? 'Good' : 'Excellent'
}
