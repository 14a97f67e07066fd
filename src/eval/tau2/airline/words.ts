/** The tools of tau2's airline domain, in its words. */
export const airlineWords = {
  book_reservation: {
    kind: 'write',
    description: 'Book a reservation.',
    parameters: {
      user_id: {
        type: 'str',
        description: "The ID of the user to book the reservation such as 'sara_doe_496'`.",
      },
      origin: { type: 'str', description: "The IATA code for the origin city such as 'SFO'." },
      destination: {
        type: 'str',
        description: "The IATA code for the destination city such as 'JFK'.",
      },
      flight_type: {
        type: { enum: ['round_trip', 'one_way'], type: 'string' },
        description: "The type of flight such as 'one_way' or 'round_trip'.",
      },
      cabin: {
        type: { enum: ['business', 'economy', 'basic_economy'], type: 'string' },
        description: "The cabin class such as 'basic_economy', 'economy', or 'business'.",
      },
      flights: {
        type: {
          items: {
            anyOf: [{ $ref: '#/$defs/FlightInfo' }, { additionalProperties: true, type: 'object' }],
          },
          type: 'array',
        },
        description: 'An array of objects containing details about each piece of flight.',
      },
      passengers: {
        type: {
          items: {
            anyOf: [{ $ref: '#/$defs/Passenger' }, { additionalProperties: true, type: 'object' }],
          },
          type: 'array',
        },
        description: 'An array of objects containing details about each passenger.',
      },
      payment_methods: {
        type: {
          items: {
            anyOf: [{ $ref: '#/$defs/Payment' }, { additionalProperties: true, type: 'object' }],
          },
          type: 'array',
        },
        description: 'An array of objects containing details about each payment method.',
      },
      total_baggages: {
        type: 'int',
        description: 'The total number of baggage items to book the reservation.',
      },
      nonfree_baggages: {
        type: 'int',
        description: 'The number of non-free baggage items to book the reservation.',
      },
      insurance: {
        type: { enum: ['yes', 'no'], type: 'string' },
        description: 'Whether the reservation has insurance.',
      },
    },
    definitions: {
      FlightInfo: {
        properties: {
          flight_number: {
            description: "Flight number, such as 'HAT001'.",
            title: 'Flight Number',
            type: 'string',
          },
          date: {
            description:
              "The date for the flight in the format 'YYYY-MM-DD', such as '2024-05-01'.",
            title: 'Date',
            type: 'string',
          },
        },
        required: ['flight_number', 'date'],
        title: 'FlightInfo',
        type: 'object',
      },
      Passenger: {
        properties: {
          first_name: {
            description: "Passenger's first name",
            title: 'First Name',
            type: 'string',
          },
          last_name: { description: "Passenger's last name", title: 'Last Name', type: 'string' },
          dob: { description: 'Date of birth in YYYY-MM-DD format', title: 'Dob', type: 'string' },
        },
        required: ['first_name', 'last_name', 'dob'],
        title: 'Passenger',
        type: 'object',
      },
      Payment: {
        properties: {
          payment_id: {
            description: 'Unique identifier for the payment',
            title: 'Payment Id',
            type: 'string',
          },
          amount: { description: 'Payment amount in dollars', title: 'Amount', type: 'integer' },
        },
        required: ['payment_id', 'amount'],
        title: 'Payment',
        type: 'object',
      },
    },
  },
  calculate: {
    kind: 'generic',
    description: 'Calculate the result of a mathematical expression.',
    parameters: {
      expression: {
        type: 'str',
        description:
          "The mathematical expression to calculate, such as '2 + 2'. The expression can contain numbers, operators (+, -, *, /), parentheses, and spaces.",
      },
    },
  },
  cancel_reservation: {
    kind: 'write',
    description: 'Cancel the whole reservation.',
    parameters: {
      reservation_id: { type: 'str', description: "The reservation ID, such as 'ZFA04Y'." },
    },
  },
  get_reservation_details: {
    kind: 'read',
    description: 'Get the details of a reservation.',
    parameters: {
      reservation_id: { type: 'str', description: "The reservation ID, such as '8JX2WO'." },
    },
  },
  get_user_details: {
    kind: 'read',
    description: 'Get the details of a user, including their reservations.',
    parameters: {
      user_id: { type: 'str', description: "The user ID, such as 'sara_doe_496'." },
    },
  },
  list_all_airports: {
    kind: 'read',
    description: 'Returns a list of all available airports.',
    parameters: {},
  },
  search_direct_flight: {
    kind: 'read',
    description: 'Search for direct flights between two cities on a specific date.',
    parameters: {
      origin: {
        type: 'str',
        description: "The origin city airport in three letters, such as 'JFK'.",
      },
      destination: {
        type: 'str',
        description: "The destination city airport in three letters, such as 'LAX'.",
      },
      date: {
        type: 'str',
        description: "The date of the flight in the format 'YYYY-MM-DD', such as '2024-01-01'.",
      },
    },
  },
  search_onestop_flight: {
    kind: 'read',
    description: 'Search for one-stop flights between two cities on a specific date.',
    parameters: {
      origin: {
        type: 'str',
        description: "The origin city airport in three letters, such as 'JFK'.",
      },
      destination: {
        type: 'str',
        description: "The destination city airport in three letters, such as 'LAX'.",
      },
      date: {
        type: 'str',
        description: "The date of the flight in the format 'YYYY-MM-DD', such as '2024-05-01'.",
      },
    },
  },
  send_certificate: {
    kind: 'write',
    description: 'Send a certificate to a user. Be careful!',
    parameters: {
      user_id: {
        type: 'str',
        description: "The ID of the user to book the reservation, such as 'sara_doe_496'.",
      },
      amount: { type: 'int', description: 'The amount of the certificate to send.' },
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
  update_reservation_baggages: {
    kind: 'write',
    description: 'Update the baggage information of a reservation.',
    parameters: {
      reservation_id: { type: 'str', description: "The reservation ID, such as 'ZFA04Y'" },
      total_baggages: {
        type: 'int',
        description: 'The updated total number of baggage items included in the reservation.',
      },
      nonfree_baggages: {
        type: 'int',
        description: 'The updated number of non-free baggage items included in the reservation.',
      },
      payment_id: {
        type: 'str',
        description:
          "The payment id stored in user profile, such as 'credit_card_7815826', 'gift_card_7815826', 'certificate_7815826'.",
      },
    },
  },
  update_reservation_flights: {
    kind: 'write',
    description: 'Update the flight information of a reservation.',
    parameters: {
      reservation_id: { type: 'str', description: "The reservation ID, such as 'ZFA04Y'." },
      cabin: {
        type: { enum: ['business', 'economy', 'basic_economy'], type: 'string' },
        description: 'The cabin class of the reservation',
      },
      flights: {
        type: {
          items: {
            anyOf: [{ $ref: '#/$defs/FlightInfo' }, { additionalProperties: true, type: 'object' }],
          },
          type: 'array',
        },
        description:
          'An array of objects containing details about each piece of flight in the ENTIRE new reservation. Even if the a flight segment is not changed, it should still be included in the array.',
      },
      payment_id: {
        type: 'str',
        description:
          "The payment id stored in user profile, such as 'credit_card_7815826', 'gift_card_7815826', 'certificate_7815826'.",
      },
    },
    definitions: {
      FlightInfo: {
        properties: {
          flight_number: {
            description: "Flight number, such as 'HAT001'.",
            title: 'Flight Number',
            type: 'string',
          },
          date: {
            description:
              "The date for the flight in the format 'YYYY-MM-DD', such as '2024-05-01'.",
            title: 'Date',
            type: 'string',
          },
        },
        required: ['flight_number', 'date'],
        title: 'FlightInfo',
        type: 'object',
      },
    },
  },
  update_reservation_passengers: {
    kind: 'write',
    description: 'Update the passenger information of a reservation.',
    parameters: {
      reservation_id: { type: 'str', description: "The reservation ID, such as 'ZFA04Y'." },
      passengers: {
        type: {
          items: {
            anyOf: [{ $ref: '#/$defs/Passenger' }, { additionalProperties: true, type: 'object' }],
          },
          type: 'array',
        },
        description: 'An array of objects containing details about each passenger.',
      },
    },
    definitions: {
      Passenger: {
        properties: {
          first_name: {
            description: "Passenger's first name",
            title: 'First Name',
            type: 'string',
          },
          last_name: { description: "Passenger's last name", title: 'Last Name', type: 'string' },
          dob: { description: 'Date of birth in YYYY-MM-DD format', title: 'Dob', type: 'string' },
        },
        required: ['first_name', 'last_name', 'dob'],
        title: 'Passenger',
        type: 'object',
      },
    },
  },
  get_flight_status: {
    kind: 'read',
    description: 'Get the status of a flight.',
    parameters: {
      flight_number: { type: 'str', description: 'The flight number.' },
      date: { type: 'str', description: 'The date of the flight.' },
    },
  },
} as const
