/** The tools of tau2's retail domain, in its words. */
export const retailWords = {
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
  cancel_pending_order: {
    kind: 'write',
    description:
      "Cancel a pending order. If the order is already processed or delivered,\n\nit cannot be cancelled. The agent needs to explain the cancellation detail\nand ask for explicit user confirmation (yes/no) to proceed. If the user confirms,\nthe order status will be changed to 'cancelled' and the payment will be refunded.\nThe refund will be added to the user's gift card balance immediately if the payment\nwas made using a gift card, otherwise the refund would take 5-7 business days to process.\nThe function returns the order details after the cancellation.",
    parameters: {
      order_id: {
        type: 'str',
        description:
          "The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.",
      },
      reason: {
        type: 'str',
        description:
          "The reason for cancellation, which should be either 'no longer needed' or 'ordered by mistake'.",
      },
    },
  },
  exchange_delivered_order_items: {
    kind: 'write',
    description:
      'Exchange items in a delivered order to new items of the same product type.\n\nFor a delivered order, return or exchange can be only done once by the agent.\nThe agent needs to explain the exchange detail and ask for explicit user confirmation (yes/no) to proceed.',
    parameters: {
      order_id: {
        type: 'str',
        description:
          "The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.",
      },
      item_ids: {
        type: 'list[str]',
        description:
          "The item ids to be exchanged, each such as '1008292230'. There could be duplicate items in the list.",
      },
      new_item_ids: {
        type: 'list[str]',
        description:
          "The item ids to be exchanged for, each such as '1008292230'.\nThere could be duplicate items in the list. Each new item id should match the item id\nin the same position and be of the same product.",
      },
      payment_method_id: {
        type: 'str',
        description:
          "The payment method id to pay or receive refund for the item price difference,\nsuch as 'gift_card_0000000' or 'credit_card_0000000'. These can be looked up\nfrom the user or order details.",
      },
    },
  },
  find_user_id_by_name_zip: {
    kind: 'read',
    description:
      'Find user id by first name, last name, and zip code. If the user is not found, the function\n\nwill return an error message. By default, find user id by email, and only call this function\nif the user is not found by email or cannot remember email.',
    parameters: {
      first_name: { type: 'str', description: "The first name of the customer, such as 'John'." },
      last_name: { type: 'str', description: "The last name of the customer, such as 'Doe'." },
      zip: { type: 'str', description: "The zip code of the customer, such as '12345'." },
    },
  },
  find_user_id_by_email: {
    kind: 'read',
    description:
      'Find user id by email. If the user is not found, the function will return an error message.',
    parameters: {
      email: {
        type: 'str',
        description: "The email of the user, such as 'something@example.com'.",
      },
    },
  },
  get_order_details: {
    kind: 'read',
    description: 'Get the status and details of an order.',
    parameters: {
      order_id: {
        type: 'str',
        description:
          "The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.",
      },
    },
  },
  get_product_details: {
    kind: 'read',
    description: 'Get the inventory details of a product.',
    parameters: {
      product_id: {
        type: 'str',
        description:
          "The product id, such as '6086499569'. Be careful the product id is different from the item id.",
      },
    },
  },
  get_item_details: {
    kind: 'read',
    description: 'Get the inventory details of an item.',
    parameters: {
      item_id: {
        type: 'str',
        description:
          "The item id, such as '6086499569'. Be careful the item id is different from the product id.",
      },
    },
  },
  get_user_details: {
    kind: 'read',
    description: 'Get the details of a user, including their orders.',
    parameters: {
      user_id: { type: 'str', description: "The user id, such as 'sara_doe_496'." },
    },
  },
  list_all_product_types: {
    kind: 'read',
    description:
      'List the name and product id of all product types.\n\nEach product type has a variety of different items with unique item ids and options.\nThere are only 50 product types in the store.',
    parameters: {},
  },
  modify_pending_order_address: {
    kind: 'write',
    description:
      'Modify the shipping address of a pending order. The agent needs to explain the modification detail and ask for explicit user confirmation (yes/no) to proceed.',
    parameters: {
      order_id: {
        type: 'str',
        description:
          "The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.",
      },
      address1: {
        type: 'str',
        description: "The first line of the address, such as '123 Main St'.",
      },
      address2: {
        type: 'str',
        description: "The second line of the address, such as 'Apt 1' or ''.",
      },
      city: { type: 'str', description: "The city, such as 'San Francisco'." },
      state: { type: 'str', description: "The state, such as 'CA'." },
      country: { type: 'str', description: "The country, such as 'USA'." },
      zip: { type: 'str', description: "The zip code, such as '12345'." },
    },
  },
  modify_pending_order_items: {
    kind: 'write',
    description:
      'Modify items in a pending order to new items of the same product type. For a pending order, this function can only be called once. The agent needs to explain the exchange detail and ask for explicit user confirmation (yes/no) to proceed.',
    parameters: {
      order_id: {
        type: 'str',
        description:
          "The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.",
      },
      item_ids: {
        type: 'list[str]',
        description:
          "The item ids to be modified, each such as '1008292230'. There could be duplicate items in the list.",
      },
      new_item_ids: {
        type: 'list[str]',
        description:
          "The item ids to be modified for, each such as '1008292230'. There could be duplicate items in the list. Each new item id should match the item id in the same position and be of the same product.",
      },
      payment_method_id: {
        type: 'str',
        description:
          "The payment method id to pay or receive refund for the item price difference, such as 'gift_card_0000000' or 'credit_card_0000000'. These can be looked up from the user or order details.",
      },
    },
  },
  modify_pending_order_payment: {
    kind: 'write',
    description:
      'Modify the payment method of a pending order. The agent needs to explain the modification detail and ask for explicit user confirmation (yes/no) to proceed.',
    parameters: {
      order_id: {
        type: 'str',
        description:
          "The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.",
      },
      payment_method_id: {
        type: 'str',
        description:
          "The payment method id to pay or receive refund for the item price difference, such as 'gift_card_0000000' or 'credit_card_0000000'. These can be looked up from the user or order details.",
      },
    },
  },
  modify_user_address: {
    kind: 'write',
    description:
      'Modify the default address of a user. The agent needs to explain the modification detail and ask for explicit user confirmation (yes/no) to proceed.',
    parameters: {
      user_id: { type: 'str', description: "The user id, such as 'sara_doe_496'." },
      address1: {
        type: 'str',
        description: "The first line of the address, such as '123 Main St'.",
      },
      address2: {
        type: 'str',
        description: "The second line of the address, such as 'Apt 1' or ''.",
      },
      city: { type: 'str', description: "The city, such as 'San Francisco'." },
      state: { type: 'str', description: "The state, such as 'CA'." },
      country: { type: 'str', description: "The country, such as 'USA'." },
      zip: { type: 'str', description: "The zip code, such as '12345'." },
    },
  },
  return_delivered_order_items: {
    kind: 'write',
    description:
      "Return some items of a delivered order.\n\nThe order status will be changed to 'return requested'.\nThe agent needs to explain the return detail and ask for explicit user confirmation (yes/no) to proceed.\nThe user will receive follow-up email for how and where to return the item.",
    parameters: {
      order_id: {
        type: 'str',
        description:
          "The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.",
      },
      item_ids: {
        type: 'list[str]',
        description:
          "The item ids to be returned, each such as '1008292230'. There could be duplicate items in the list.",
      },
      payment_method_id: {
        type: 'str',
        description:
          "The payment method id to pay or receive refund for the item price difference, such as 'gift_card_0000000' or 'credit_card_0000000'.\nThese can be looked up from the user or order details.",
      },
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
} as const
