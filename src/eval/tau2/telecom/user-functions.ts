/** What telecom's tasks do to the user's half beside its tools: set-up functions, and assertions. */
import { isLess } from '../python/arithmetic.ts'
import { assertionError, attributeError, valueError } from '../python/error.ts'
import { keyOf, lower } from '../python/methods.ts'
import { repr, str } from '../python/text.ts'
import { equals, isTruthy, type Value } from '../python/value.ts'
import { type Method, method, type Self } from '../toolkit.ts'
import {
  apnOf,
  canSendMms,
  editPhone,
  editSurroundings,
  hasMobileData,
  measureSpeed,
  phoneOf,
  searchNetwork,
  surroundingsOf,
} from './phone.ts'
import {
  connectVpn,
  press,
  toggleAirplaneMode,
  toggleData,
  toggleDataSaver,
  toggleRoaming,
  toggleWifiCalling,
} from './switches.ts'
import { networkStatuses, type Phone } from './user-models.ts'

/** Set-up functions and assertions. */
export const userFunctions: Readonly<Record<string, Method>> = {
  set_user_info: method(['name', 'phone_number'], (self, { name, phone_number }) => {
    Object.assign(editSurroundings(self), { name, phone_number })
    return null
  }),
  set_user_location: method(['abroad'], (self, { abroad }) => {
    editSurroundings(self).is_abroad = abroad
    return null
  }),
  turn_airplane_mode_on: presses(toggleAirplaneMode, true, 'Airplane Mode is now ON.'),
  turn_airplane_mode_off: presses(toggleAirplaneMode, false, 'Airplane Mode is now OFF.'),
  unseat_sim_card: method([], (self) => {
    editPhone(self).sim_card_missing = true
    searchNetwork(self)
    return 'SIM card un-seated successfully.'
  }),
  lock_sim_card: method(['mode'], (self, { mode }) => {
    if (mode === 'pin' || mode === 'puk') editPhone(self).sim_card_status = `locked_${mode}`
    searchNetwork(self)
    return `SIM card locked successfully in ${str(mode)} mode.`
  }),
  turn_data_on: method([], (self) => {
    editPhone(self).data_enabled = true
    return 'Data connection restored.'
  }),
  turn_data_off: presses(toggleData, false, 'Data connection broken.'),
  turn_roaming_on: presses(toggleRoaming, true, 'Data Roaming is now ON.'),
  turn_roaming_off: presses(toggleRoaming, false, 'Data Roaming is now OFF.'),
  turn_data_saver_mode_on: presses(toggleDataSaver, true, 'Data Saver Mode is now ON.'),
  turn_data_saver_mode_off: presses(toggleDataSaver, false, 'Data Saver Mode is now OFF.'),
  break_apn_settings: method([], (self) => {
    apnOf(editPhone(self), 'apn_name').apn_name = 'broken'
    searchNetwork(self)
    return 'APN settings broken. Please call reset_apn_settings() to fix.'
  }),
  break_apn_mms_setting: method([], (self) => {
    apnOf(editPhone(self), 'mmsc_url').mmsc_url = null
    if (canSendMms(self)) throw assertionError()
    return 'APN MMS setting broken. Please call reset_apn_settings() to fix.'
  }),
  set_wifi_calling: method(
    ['enabled'],
    (self, { enabled, mms_over_wifi }) => {
      if (!equals(phoneOf(self).wifi_calling_enabled, enabled)) toggleWifiCalling(self)
      const words = `Wi-Fi Calling is now ${onOff(enabled)}.`
      if (mms_over_wifi === null) return words
      editPhone(self).wifi_calling_mms_over_wifi = mms_over_wifi
      return `${words}\nMMS over Wi-Fi is now ${onOff(mms_over_wifi)}.`
    },
    { mms_over_wifi: null },
  ),
  break_vpn: method([], (self) => {
    connectVpn(self)
    const details = editPhone(self).vpn_details
    if (!details) throw attributeError(null, 'server_performance')
    details.server_performance = 'poor'
    return 'VPN connection broken.'
  }),
  remove_app_permission: method(['app_name', 'permission'], removePermission),
  simulate_network_search: method([], (self) => {
    searchNetwork(self)
    return null
  }),

  assert_airplane_mode_status: phoneHas('airplane_mode'),
  assert_service_status: method(['expected_status'], (self, { expected_status }) => {
    if (!networkStatuses.some((one) => one === expected_status))
      throw valueError(`${repr(expected_status)} is not a valid NetworkStatus`)
    return equals(phoneOf(self).network_connection_status, expected_status)
  }),
  assert_mobile_data_status: method(['expected_status'], (self, { expected_status }) =>
    equals(hasMobileData(self), expected_status),
  ),
  assert_mobile_roaming_status: phoneHas('roaming_enabled'),
  assert_mobile_data_saver_mode_status: phoneHas('data_saver_mode'),
  assert_internet_speed: method(
    ['expected_speed'],
    (self, { expected_speed, expected_desc }) => {
      const { speed = 0, word } = measureSpeed(self)
      const isFast = !isLess(speed, expected_speed, '>=')
      if (expected_desc === null || !isFast) return isFast
      return word.toLowerCase() === lower(expected_desc)
    },
    { expected_desc: null },
  ),
  assert_internet_not_excellent: method([], (self) => measureSpeed(self).word !== 'Excellent'),
  assert_can_send_mms: method(['expected_status'], (self, { expected_status }) =>
    equals(canSendMms(self), expected_status),
  ),
  assert_mobile_data_usage_exceeded: method(['expected_status'], (self, { expected_status }) =>
    equals(surroundingsOf(self).mobile_data_usage_exceeded, expected_status),
  ),
}

/** A function that presses a switch into a position. */
function presses(toggle: (self: Self) => boolean, wanted: boolean, words: string): Method {
  return method([], (self) => {
    press(toggle, self, wanted)
    return words
  })
}

/** An assertion about one property of the phone. */
function phoneHas(field: keyof Phone & string): Method {
  return method(['expected_status'], (self, { expected_status }) =>
    equals(phoneOf(self)[field], expected_status),
  )
}

function onOff(value: Value): string {
  return isTruthy(value) ? 'ON' : 'OFF'
}

function removePermission(
  self: Self,
  args: { readonly app_name: Value; readonly permission: Value },
): Value {
  const key = keyOf(args.app_name)
  const permission = lower(args.permission)
  const app = key === undefined ? undefined : editPhone(self).app_statuses.get(key)
  const name = str(args.app_name)
  if (!app) return [false, `App '${name}' not found. Cannot remove permission.`]
  if (!Object.hasOwn(app.permissions, permission))
    return [false, `Permission '${permission}' not tracked for app '${name}'.`]
  Object.assign(app.permissions, { [permission]: false })
  return [true, `Permission '${permission}' removed from app '${name}'.`]
}
