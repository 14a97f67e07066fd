/** The phone's switches, as tools and set-up functions use them. */
import { equals, type Value } from '../python/value.ts'
import type { Self } from '../toolkit.ts'
import { editPhone, phoneOf, searchNetwork } from './phone.ts'
import { networkModes, type Phone, vpnModel } from './user-models.ts'

/** Airplane mode: on, it cuts Wi-Fi and VPN; either way the phone looks for a network again. */
export function toggleAirplaneMode(self: Self): boolean {
  const phone = editPhone(self)
  const wasOn = phone.airplane_mode
  phone.airplane_mode = !wasOn
  if (wasOn) phone.network_connection_status = 'searching'
  if (!wasOn || phone.wifi_enabled) leaveWifi(phone)
  if (!wasOn) disconnectVpn(self)
  searchNetwork(self)
  return phone.airplane_mode
}

/** Mobile data. */
export function toggleData(self: Self): boolean {
  const phone = editPhone(self)
  phone.data_enabled = !phone.data_enabled
  searchNetwork(self)
  return phone.data_enabled
}

/** Data roaming. */
export function toggleRoaming(self: Self): boolean {
  const phone = editPhone(self)
  phone.roaming_enabled = !phone.roaming_enabled
  searchNetwork(self)
  return phone.roaming_enabled
}

/** Data saver. */
export function toggleDataSaver(self: Self): boolean {
  const phone = editPhone(self)
  phone.data_saver_mode = !phone.data_saver_mode
  return phone.data_saver_mode
}

/** Wi-Fi; undefined in airplane mode, where it cannot be switched. */
export function toggleWifi(self: Self): boolean | undefined {
  if (phoneOf(self).airplane_mode) return undefined
  const phone = editPhone(self)
  phone.wifi_enabled = !phone.wifi_enabled
  if (!phone.wifi_enabled) leaveWifi(phone)
  return phone.wifi_enabled
}

/** Wi-Fi calling. */
export function toggleWifiCalling(self: Self): boolean {
  const phone = editPhone(self)
  phone.wifi_calling_enabled = !phone.wifi_calling_enabled
  return phone.wifi_calling_enabled
}

/** Brings a switch into a position, by pressing it once or twice as tau2 does. */
export function press(toggle: (self: Self) => boolean, self: Self, wanted: boolean): void {
  if (toggle(self) !== wanted) toggle(self)
}

/** A value that is taken for a network mode; a wrong string changes nothing, anything else is set as it is. */
export function setNetworkMode(self: Self, mode: Value): Value {
  if (typeof mode === 'string' && !networkModes.some((one) => equals(one, mode))) return null
  editPhone(self).network_mode_preference = mode
  searchNetwork(self)
  return mode
}

/** The connection that every VPN of a world gets: one object, so that a broken one stays broken when it is dialled again. */
export function usualVpn(): { readonly default_vpn_details: ReturnType<typeof vpnModel.create> } {
  const values = { server_address: '192.168.1.1', protocol: 'OpenVPN' }
  return { default_vpn_details: vpnModel.create({ ...values, server_performance: 'excellent' }) }
}

/** Dials the VPN; false where it is connected already. */
export function connectVpn(self: Self): boolean {
  const phone = editPhone(self)
  if (phone.vpn_connected) return false
  const details = self.attributes.default_vpn_details
  phone.vpn_connected = true
  if (details && vpnModel.is(details)) phone.vpn_details = details
  return true
}

/** Hangs the VPN up; false where there is none. */
export function disconnectVpn(self: Self): boolean {
  if (!phoneOf(self).vpn_connected) return false
  const phone = editPhone(self)
  phone.vpn_connected = false
  phone.vpn_details = null
  return true
}

function leaveWifi(phone: Phone): void {
  phone.wifi_connected = false
  phone.wifi_ssid = null
  phone.wifi_signal_strength = 'none'
}
