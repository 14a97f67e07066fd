import { attributeError } from '../python/error.ts'
import { toFixed } from '../python/float.ts'
import { keyOf, needText } from '../python/methods.ts'
import { repr, str } from '../python/text.ts'
import { fieldsOf, isDict, isTruthy, type Value } from '../python/value.ts'
import type { SharedRow } from '../state/table.ts'
import { defineToolkit, type Self, type Toolkit } from '../toolkit.ts'
import {
  apnOf,
  canSendMms,
  editPhone,
  editSurroundings,
  measureSpeed,
  phoneOf,
  searchNetwork,
  simStatus,
  statusBar,
  surroundingsOf,
} from './phone.ts'
import {
  connectVpn,
  disconnectVpn,
  setNetworkMode,
  toggleAirplaneMode,
  toggleData,
  toggleDataSaver,
  toggleRoaming,
  toggleWifi,
  toggleWifiCalling,
  usualVpn,
} from './switches.ts'
import { userFunctions } from './user-functions.ts'
import {
  type AppPermissions,
  type AppStatus,
  apnModel,
  networkModes,
  type VpnDetails,
} from './user-models.ts'
import { telecomUserWords } from './user-words.ts'

/** The user's tools of the telecom domain: a phone and what can be done with it. */
export const telecomUserTools: Toolkit = defineToolkit({
  name: 'TelecomUserTools',
  words: telecomUserWords,
  attributes: usualVpn,
  functions: userFunctions,
  tools: {
    check_status_bar: (self) => `Status Bar: ${statusBar(phoneOf(self))}`,
    check_network_status: networkStatus,
    check_network_mode_preference: (self) =>
      `Network Mode Preference: ${enumValue(phoneOf(self).network_mode_preference)}`,
    set_network_mode_preference(self, { mode }) {
      const valid = setNetworkMode(self, mode)
      if (valid === null) {
        const options = `Please use one of: ${networkModes.join(', ')}`
        return withBar(
          self,
          `Failed to set network mode: '${str(mode)}' is not a valid option. ${options}`,
        )
      }
      return withBar(self, `Preferred Network Mode set to: ${enumValue(valid)}`)
    },
    run_speed_test: speedTest,
    toggle_airplane_mode: (self) =>
      withBar(self, `Airplane Mode is now ${onOff(toggleAirplaneMode(self))}.`),
    check_sim_status: (self) => simWords[simStatus(phoneOf(self))] ?? '',
    reseat_sim_card(self) {
      editPhone(self).sim_card_missing = false
      searchNetwork(self)
      return withBar(self, 'SIM card re-seated successfully.')
    },
    toggle_data: (self) => withBar(self, `Mobile Data is now ${onOff(toggleData(self))}.`),
    toggle_roaming: (self) => withBar(self, `Data Roaming is now ${onOff(toggleRoaming(self))}.`),
    check_data_restriction_status: (self) =>
      phoneOf(self).data_saver_mode
        ? 'Data Saver mode is ON (limits data usage).'
        : 'Data Saver mode is OFF.',
    toggle_data_saver_mode: (self) =>
      withBar(self, `Data Saver Mode is now ${onOff(toggleDataSaver(self))}.`),
    check_apn_settings(self) {
      const { apn_name, mmsc_url } = apnOf(phoneOf(self), 'model_copy')
      const url = `MMSC URL (for picture messages): ${mmsc_url || 'Not Set'}`
      const hint = '(These are technical settings, usually best left unchanged.)'
      return `Current APN Name: ${apn_name || 'Not Set'}\n${url}\n${hint}`
    },
    set_apn_settings(self, { apn_settings }) {
      const phone = editPhone(self)
      const settings = isDict(apn_settings) ? apnModel.from(apn_settings) : apn_settings
      phone.active_apn_settings = settings
      const words = `APN settings set to: ${apnOf(phone, 'apn_name').apn_name}`
      searchNetwork(self)
      return withBar(self, words)
    },
    reset_apn_settings(self) {
      apnOf(editPhone(self), 'reset_at_reboot').reset_at_reboot = true
      searchNetwork(self)
      return withBar(self, 'APN settings will reset at reboot.')
    },
    check_wifi_status(self) {
      const { wifi_enabled, wifi_connected, wifi_ssid, wifi_signal_strength } = phoneOf(self)
      if (!wifi_enabled) return 'Wi-Fi is turned OFF.'
      if (!wifi_connected) return 'Wi-Fi is ON but not connected to any network.'
      const strength = `Signal strength: ${wifi_signal_strength}.`
      return `Wi-Fi is ON and connected to '${str(wifi_ssid)}'. ${strength}`
    },
    toggle_wifi(self) {
      const isOn = toggleWifi(self)
      if (isOn === undefined)
        return withBar(self, 'Cannot change Wi-Fi settings while Airplane Mode is ON.')
      return withBar(self, `Wi-Fi is now ${onOff(isOn)}.`)
    },
    check_wifi_calling_status: (self) =>
      `Wi-Fi Calling is currently turned ${onOff(phoneOf(self).wifi_calling_enabled)}.`,
    toggle_wifi_calling: (self) =>
      withBar(self, `Wi-Fi Calling is now ${onOff(toggleWifiCalling(self))}.`),
    check_vpn_status: vpnStatus,
    connect_vpn: (self) =>
      connectVpn(self) ? withBar(self, 'VPN connected successfully.') : 'VPN already connected.',
    disconnect_vpn: (self) =>
      withBar(
        self,
        disconnectVpn(self)
          ? 'VPN disconnected successfully.'
          : 'No active VPN connection to disconnect.',
      ),
    check_installed_apps: (self) =>
      `The following apps are installed on the phone: ${[...phoneOf(self).app_statuses.keys()].join(', ')}`,
    check_app_status(self, { app_name }) {
      const app = appOf(self, app_name)
      if (!app) return `App '${str(app_name)}' not found on this phone.`
      const granted = grantedNames(app.permissions)
      const head = `Status for App: ${str(app_name)}`
      if (granted.length === 0) return `${head}\n - Permissions: None granted.`
      return [head, ' - Permissions Granted:', ...granted.map((name) => `   - ${name}`)].join('\n')
    },
    check_app_permissions(self, { app_name }) {
      const app = appOf(self, app_name)
      if (!app) return `App '${str(app_name)}' not found on this phone.`
      const granted = grantedNames(app.permissions)
      if (granted.length === 0)
        return `App '${str(app_name)}' currently has no permissions granted.`
      return `App '${str(app_name)}' has permission for: ${granted.join(', ')}.`
    },
    grant_app_permission: (self, { app_name, permission }) =>
      withBar(self, grant(self, app_name, permission)),
    can_send_mms: (self) =>
      `Your messaging app ${canSendMms(self) ? 'can' : 'cannot'} send MMS messages.`,
    reboot_device: reboot,
    check_payment_request(self) {
      const request = surroundingsOf(self).payment_request
      if (!request) return 'No payment request has been made.'
      const { bill_id, amount_due } = request
      return `You have a payment request for bill ${bill_id} of ${str(amount_due)} USD.`
    },
    make_payment(self) {
      const request = editSurroundings(self).payment_request
      if (!request) return 'You do not have a payment request.'
      request.paid = true
      return `Payment of ${str(request.amount_due)} USD has been made for bill ${request.bill_id}.`
    },
  },
})

const simWords: Readonly<Record<string, string>> = {
  active: 'Your SIM card is active and working.',
  missing: 'No SIM card detected in the phone.',
  locked_pin: 'The SIM card is locked with a PIN code.',
  locked_puk: 'The SIM card is locked with a PUK code.',
}

const speedAdvice: Readonly<Record<string, string>> = {
  'Very Poor': 'Connection is very slow. Basic web browsing might be difficult.',
  Poor: 'Connection is slow. Web browsing may be sluggish, streaming difficult.',
  Fair: 'Connection is okay for web browsing and some standard definition streaming.',
  Good: 'Connection is good for most activities, including HD streaming.',
  Excellent: 'Connection is very fast.',
}

function withBar(self: Self, words: string): string {
  return `${words}\nStatus Bar: ${statusBar(phoneOf(self))}`
}

function onOff(isOn: boolean): string {
  return isOn ? 'ON' : 'OFF'
}

/** `member.value`: what was assigned in the place of a member has none. */
function enumValue(value: Value): string {
  if (typeof value !== 'string') throw attributeError(value, 'value')
  return value
}

function networkStatus(self: Self): string {
  const phone = phoneOf(self)
  const yesNo = (is: boolean): string => (is ? 'Yes' : 'No')
  const lines = [
    `Airplane Mode: ${onOff(phone.airplane_mode)}`,
    `SIM Card Status: ${simStatus(phone)}`,
    `Cellular Connection: ${phone.network_connection_status}`,
    `Cellular Signal: ${phone.network_signal_strength}`,
    `Cellular Network Type: ${phone.network_technology_connected}`,
    `Mobile Data Enabled: ${yesNo(phone.data_enabled)}`,
    `Data Roaming Enabled: ${yesNo(phone.roaming_enabled)}`,
    `Wi-Fi Radio: ${onOff(phone.wifi_enabled)}`,
    `Wi-Fi Connected: ${yesNo(phone.wifi_connected)}`,
  ]
  if (phone.wifi_connected) lines.push(`Connected Wi-Fi Network: ${str(phone.wifi_ssid)}`)
  return lines.join('\n')
}

function speedTest(self: Self): string {
  const { speed, word } = measureSpeed(self)
  if (speed === undefined) return `Speed test failed: ${word}.`
  return `Speed Test Result: ${toFixed(speed, 2)} Mbps (${word}). ${speedAdvice[word] ?? ''}`
}

function vpnStatus(self: Self): string {
  const { vpn_connected, vpn_details, vpn_enabled_setting } = phoneOf(self)
  if (vpn_connected && vpn_details)
    return `VPN is ON and connected. Details: ${vpnRepr(vpn_details)}`
  if (vpn_connected) return 'VPN is ON and connected (no specific details available).'
  return vpn_enabled_setting
    ? 'VPN is turned ON in settings, but currently not connected.'
    : 'VPN is turned OFF.'
}

/** The `repr` of the details as a dict, in which a member of an enum shows its class. */
function vpnRepr({ server_address, protocol, server_performance }: SharedRow<VpnDetails>): string {
  const level = `<PerformanceLevel.${server_performance.toUpperCase()}: '${server_performance}'>`
  const parts = `'server_address': ${repr(server_address)}, 'protocol': ${repr(protocol)}`
  return `{${parts}, 'server_performance': ${level}}`
}

function appOf(self: Self, name: Value): SharedRow<AppStatus> | undefined {
  const key = keyOf(name)
  return key === undefined ? undefined : phoneOf(self).app_statuses.get(key)
}

function grantedNames(permissions: SharedRow<AppPermissions>): string[] {
  return fieldsOf(permissions)
    .filter(([, isGranted]) => isTruthy(isGranted))
    .map(([name]) => name.replaceAll('_', ' ').toLowerCase())
}

function grant(self: Self, appName: Value, given: Value): string {
  const app = appOf(self, appName)
  const permission = needText(given, 'lower').toLowerCase()
  if (!app) return `Error. App '${str(appName)}' not found. Cannot grant permission.`
  const known = fieldsOf(app.permissions).map(([name]) => name)
  if (!known.includes(permission)) {
    const list = `available permissions: ${repr(known)}`
    return `Error. Permission '${permission}' not tracked for app '${str(appName)}', ${list}`
  }
  setPermission(self, String(appName), permission, true)
  return `Success. Permission '${permission}' granted to app '${str(appName)}'.`
}

function setPermission(self: Self, app: string, permission: string, isGranted: boolean): void {
  const permissions = editPhone(self).app_statuses.get(app)?.permissions
  if (permissions) Object.assign(permissions, { [permission]: isGranted })
}

function reboot(self: Self): string {
  const phone = editPhone(self)
  const lines: string[] = []
  if (apnOf(phone, 'reset_at_reboot').reset_at_reboot) {
    lines.push('Resetting APN settings...')
    phone.active_apn_settings = apnModel.create({})
  }
  lines.push('Restarting network services...')
  phone.network_connection_status = 'searching'
  searchNetwork(self)
  return withBar(self, lines.join('\n'))
}
