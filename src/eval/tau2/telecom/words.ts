/** The agent's tools of tau2's telecom domain, in its words. */
export const telecomWords = {
  get_customer_by_phone: {
    kind: 'read',
    description: 'Finds a customer by their primary contact or line phone number.',
    parameters: {
      phone_number: { type: 'str', description: 'The phone number to search for.' },
    },
  },
  get_customer_by_id: {
    kind: 'read',
    description: 'Retrieves a customer directly by their unique ID.',
    parameters: {
      customer_id: { type: 'str', description: 'The unique identifier of the customer.' },
    },
  },
  get_customer_by_name: {
    kind: 'read',
    description:
      'Searches for customers by name and DOB. May return multiple matches if names are similar,\n\nDOB helps disambiguate.',
    parameters: {
      full_name: { type: 'str', description: 'The full name of the customer.' },
      dob: {
        type: 'str',
        description: 'Date of birth for verification, in the format YYYY-MM-DD.',
      },
    },
  },
  get_details_by_id: {
    kind: 'read',
    description:
      'Retrieves the details for a given ID.\n\nThe ID must be a valid ID for a Customer, Line, Device, Bill, or Plan.',
    parameters: {
      id: { type: 'str', description: 'The ID of the object to retrieve.' },
    },
  },
  suspend_line: {
    kind: 'write',
    description:
      'Suspends a specific line (max 6 months).\n\nChecks: Line status must be Active.\nLogic: Sets line status to Suspended, records suspension_start_date.',
    parameters: {
      customer_id: { type: 'str', description: 'ID of the customer who owns the line.' },
      line_id: { type: 'str', description: 'ID of the line to suspend.' },
      reason: { type: 'str', description: 'Reason for suspension.' },
    },
  },
  resume_line: {
    kind: 'write',
    description:
      'Resumes a suspended line.\n\nChecks: Line status must be Suspended or Pending Activation.\nLogic: Sets line status to Active, clears suspension_start_date.',
    parameters: {
      customer_id: { type: 'str', description: 'ID of the customer who owns the line.' },
      line_id: { type: 'str', description: 'ID of the line to resume.' },
    },
  },
  get_bills_for_customer: {
    kind: 'read',
    description: "Retrieves a list of the customer's bills, most recent first.",
    parameters: {
      customer_id: { type: 'str', description: 'ID of the customer.' },
      limit: { type: 'int', description: 'Maximum number of bills to return.', default: 12n },
    },
  },
  send_payment_request: {
    kind: 'write',
    description:
      'Sends a payment request to the customer for a specific bill.\n\nChecks:\n    - Customer exists\n    - Bill exists and belongs to the customer\n    - No other bills are already awaiting payment for this customer\nLogic: Sets bill status to AWAITING_PAYMENT and notifies customer.\nWarning: This method does not check if the bill is already PAID.\nAlways check the bill status before calling this method.',
    parameters: {
      customer_id: { type: 'str', description: 'ID of the customer who owns the bill.' },
      bill_id: { type: 'str', description: 'ID of the bill to send payment request for.' },
    },
  },
  get_data_usage: {
    kind: 'read',
    description:
      'Retrieves current billing cycle data usage for a line, including data\n\nrefueling amount, data limit, and cycle end date.',
    parameters: {
      customer_id: { type: 'str', description: 'ID of the customer who owns the line.' },
      line_id: { type: 'str', description: 'ID of the line to check usage for.' },
    },
  },
  enable_roaming: {
    kind: 'write',
    description: 'Enables international roaming on a line.',
    parameters: {
      customer_id: { type: 'str', description: 'ID of the customer who owns the line.' },
      line_id: { type: 'str', description: 'ID of the line to enable roaming for.' },
    },
  },
  disable_roaming: {
    kind: 'write',
    description: 'Disables international roaming on a line.',
    parameters: {
      customer_id: { type: 'str', description: 'ID of the customer who owns the line.' },
      line_id: { type: 'str', description: 'ID of the line to disable roaming for.' },
    },
  },
  transfer_to_human_agents: {
    kind: 'generic',
    description:
      "Transfer the user to a human agent, with a summary of the user's issue.\n\nOnly transfer if\n -  the user explicitly asks for a human agent\n -  given the policy and the available tools, you cannot solve the user's issue.",
    parameters: {
      summary: { type: 'str', description: "A summary of the user's issue." },
    },
  },
  refuel_data: {
    kind: 'write',
    description:
      "Refuels data for a specific line, adding to the customer's bill.\n\nChecks: Line status must be Active, Customer owns the line.\nLogic: Adds data to the line and charges customer based on the plan's refueling rate.",
    parameters: {
      customer_id: { type: 'str', description: 'ID of the customer who owns the line.' },
      line_id: { type: 'str', description: 'ID of the line to refuel data for.' },
      gb_amount: { type: 'float', description: 'Amount of data to add in gigabytes.' },
    },
  },
} as const
