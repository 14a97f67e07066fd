/** The user's tools of tau2's telecom domain, in its words. */
export const telecomUserWords = {
  check_status_bar: {
    kind: 'read',
    description:
      "Shows what icons are currently visible in your phone's status bar (the area at the top of the screen). Displays network signal strength, mobile data status (enabled, disabled, data saver), Wi-Fi status, and battery level.",
    parameters: {},
  },
  check_network_status: {
    kind: 'read',
    description:
      "Checks your phone's connection status to cellular networks and Wi-Fi. Shows airplane mode status, signal strength, network type, whether mobile data is enabled, and whether data roaming is enabled.",
    parameters: {},
  },
  check_network_mode_preference: {
    kind: 'read',
    description: 'Shows the current network mode preference.',
    parameters: {},
  },
  set_network_mode_preference: {
    kind: 'write',
    description:
      'Changes the type of cellular network your phone prefers to connect to (e.g., 5G, LTE/4G, 3G). Higher-speed networks (LTE/5G) provide faster data but may use more battery.',
    parameters: {
      mode: { type: { anyOf: [{ $ref: '#/$defs/NetworkModePreference' }, { type: 'string' }] } },
    },
    definitions: {
      NetworkModePreference: {
        enum: ['4g_5g_preferred', '4g_only', '3g_only', '2g_only'],
        title: 'NetworkModePreference',
        type: 'string',
      },
    },
  },
  run_speed_test: {
    kind: 'read',
    description:
      'Measures your current internet connection speed (download speed). Provides information about connection quality and what activities it can support.',
    parameters: {},
  },
  toggle_airplane_mode: {
    kind: 'write',
    description:
      'Toggles Airplane Mode ON or OFF. When ON, it disconnects all wireless communications including cellular, Wi-Fi, and Bluetooth.\n\nReturns the new state of airplane_mode.',
    parameters: {},
  },
  check_sim_status: {
    kind: 'read',
    description:
      'Checks if your SIM card is working correctly and displays its current status. Shows if the SIM is active, missing, or locked with a PIN or PUK code.',
    parameters: {},
  },
  reseat_sim_card: {
    kind: 'write',
    description:
      'Simulates removing and reinserting your SIM card. This can help resolve recognition issues.',
    parameters: {},
  },
  toggle_data: {
    kind: 'write',
    description:
      "Toggles your phone's mobile data connection ON or OFF. Controls whether your phone can use cellular data for internet access when Wi-Fi is unavailable.\n\nReturns the new data connection status.",
    parameters: {},
  },
  toggle_roaming: {
    kind: 'write',
    description:
      "Toggles Data Roaming ON or OFF. When ON, your phone can use data networks in areas outside your carrier's coverage.\n\nReturns the new data roaming status.",
    parameters: {},
  },
  check_data_restriction_status: {
    kind: 'read',
    description:
      'Checks if your phone has any data-limiting features active. Shows if Data Saver mode is on.',
    parameters: {},
  },
  toggle_data_saver_mode: {
    kind: 'write',
    description:
      'Toggles Data Saver mode ON or OFF. When ON, it reduces data usage, which may affect data speed.\n\nReturns the new data saver mode status.',
    parameters: {},
  },
  check_apn_settings: {
    kind: 'read',
    description:
      "Checks the technical APN settings your phone uses to connect to your carrier's mobile data network. Shows current APN name and MMSC URL for picture messaging.",
    parameters: {},
  },
  set_apn_settings: {
    kind: 'write',
    description: 'Sets the APN settings for the phone.',
    parameters: {
      apn_settings: {
        type: {
          anyOf: [{ $ref: '#/$defs/APNSettings' }, { additionalProperties: true, type: 'object' }],
        },
      },
    },
    definitions: {
      APNNames: { enum: ['internet', 'broken'], title: 'APNNames', type: 'string' },
      APNSettings: {
        additionalProperties: false,
        description: 'Represents the configuration for a single Access Point Name (APN).',
        properties: {
          apn_name: {
            $ref: '#/$defs/APNNames',
            default: 'internet',
            description: 'The name identifier for the APN connection.',
          },
          reset_at_reboot: {
            default: false,
            description: 'Whether the APN settings will be reset at the next reboot.',
            title: 'Reset At Reboot',
            type: 'boolean',
          },
          mms_apn: {
            anyOf: [{ type: 'string' }, { type: 'null' }],
            default: 'mms',
            description: 'Specific APN name used for MMS traffic, if different from general data.',
            title: 'Mms Apn',
          },
          mmsc_url: {
            anyOf: [{ type: 'string' }, { type: 'null' }],
            default: 'http://mms.carrier.com/mms/wapenc',
            description:
              'The URL of the Multimedia Messaging Service Center (MMSC). Crucial for MMS.',
            title: 'Mmsc Url',
          },
          mms_proxy: {
            anyOf: [{ type: 'string' }, { type: 'null' }],
            default: null,
            description: 'The proxy server address required for MMS traffic on some networks.',
            title: 'Mms Proxy',
          },
          mms_port: {
            anyOf: [{ type: 'integer' }, { type: 'null' }],
            default: null,
            description: 'The proxy server port required for MMS traffic on some networks.',
            title: 'Mms Port',
          },
        },
        title: 'APNSettings',
        type: 'object',
      },
    },
  },
  reset_apn_settings: {
    kind: 'write',
    description: 'Resets your APN settings to the default settings.',
    parameters: {},
  },
  check_wifi_status: {
    kind: 'read',
    description:
      "Checks your Wi-Fi connection status. Shows if Wi-Fi is turned on, which network you're connected to (if any), and the signal strength.",
    parameters: {},
  },
  toggle_wifi: {
    kind: 'write',
    description:
      "Toggles your phone's Wi-Fi radio ON or OFF. Controls whether your phone can discover and connect to wireless networks for internet access.\n\nReturns the new Wi-Fi status.",
    parameters: {},
  },
  check_wifi_calling_status: {
    kind: 'read',
    description:
      'Checks if Wi-Fi Calling is enabled on your device. This feature allows you to make and receive calls over a Wi-Fi network instead of using the cellular network.',
    parameters: {},
  },
  toggle_wifi_calling: {
    kind: 'write',
    description:
      'Toggles Wi-Fi Calling ON or OFF. This feature allows you to make and receive calls over Wi-Fi instead of the cellular network, which can help in areas with weak cellular signal.\n\nReturns the new Wi-Fi Calling status.',
    parameters: {},
  },
  check_vpn_status: {
    kind: 'read',
    description:
      "Checks if you're using a VPN (Virtual Private Network) connection. Shows if a VPN is active, connected, and displays any available connection details.",
    parameters: {},
  },
  connect_vpn: {
    kind: 'write',
    description: 'Connects to your VPN (Virtual Private Network).',
    parameters: {},
  },
  disconnect_vpn: {
    kind: 'write',
    description:
      'Disconnects any active VPN (Virtual Private Network) connection. Stops routing your internet traffic through a VPN server, which might affect connection speed or access to content.',
    parameters: {},
  },
  check_installed_apps: {
    kind: 'read',
    description: 'Returns the name of all installed apps on the phone.',
    parameters: {},
  },
  check_app_status: {
    kind: 'read',
    description:
      'Checks detailed information about a specific app. Shows its permissions and background data usage settings.',
    parameters: {
      app_name: { type: 'str' },
    },
  },
  check_app_permissions: {
    kind: 'read',
    description:
      'Checks what permissions a specific app currently has. Shows if the app has access to features like storage, camera, location, etc.',
    parameters: {
      app_name: { type: 'str' },
    },
  },
  grant_app_permission: {
    kind: 'write',
    description:
      'Gives a specific permission to an app (like access to storage, camera, or location). Required for some app functions to work properly.',
    parameters: {
      app_name: { type: 'str', description: 'The name of the app to grant the permission to.' },
      permission: { type: 'str', description: 'The permission to grant, should be lowercase.' },
    },
  },
  can_send_mms: {
    kind: 'read',
    description: 'Checks if the default messaging app can send MMS messages.',
    parameters: {},
  },
  reboot_device: {
    kind: 'write',
    description:
      'Restarts your phone completely. This can help resolve many temporary software glitches by refreshing all running services and connections.',
    parameters: {},
  },
  check_payment_request: {
    kind: 'read',
    description: 'Checks if the agent has sent you a payment request.',
    parameters: {},
  },
  make_payment: {
    kind: 'write',
    description: 'Makes a payment for the bill that the agent has sent you.',
    parameters: {},
  },
} as const
