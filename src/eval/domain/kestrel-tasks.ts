import type { EvalTask, GoldAction, RewardType, ScriptedReply } from './domain.ts'

/** A task of the airline in short: who calls, what they say, what a right solution does and says. */
interface KestrelTask {
  readonly id: string
  readonly purpose: string
  readonly customer: string
  /** The caller's first words. */
  readonly opening: string
  /** What they know beyond it, and how they decide; for a model that plays the user. */
  readonly knows?: string
  /** Particular answers, before the general ones. */
  readonly replies?: readonly ScriptedReply[]
  readonly actions: readonly (readonly [name: string, args: GoldAction['arguments']])[]
  /** What the caller must be told. */
  readonly told?: readonly string[]
  readonly basis?: readonly RewardType[]
}

const tasks: readonly KestrelTask[] = [
  {
    id: 'cancel-within-a-day',
    purpose: 'A booking made less than 24 hours ago may be cancelled.',
    customer: 'mira-holt',
    opening: 'Hello, I booked BK1001 last night and want to cancel it. I am mira-holt.',
    actions: [['cancel_booking', { booking_ref: 'BK1001' }]],
    told: ['119'],
  },
  {
    id: 'cancel-too-late',
    purpose: 'An old, uninsured economy booking must not be cancelled.',
    customer: 'mira-holt',
    opening: 'I want my money back for BK1002, my plans changed. My id is mira-holt.',
    knows: 'You have no insurance.',
    actions: [],
  },
  {
    id: 'cancel-insured-illness',
    purpose: 'Insurance covers illness.',
    customer: 'lina-marsh',
    opening:
      'I have fallen ill and cannot fly. Please cancel BK1009. Lina Marsh, customer id lina-marsh.',
    actions: [['cancel_booking', { booking_ref: 'BK1009' }]],
  },
  {
    id: 'cancel-insured-no-reason',
    purpose: 'Insurance does not cover a change of mind.',
    customer: 'tomas-rey',
    opening: 'Please cancel BK1010 and refund me. I am insured! My id is tomas-rey.',
    knows: 'You just do not feel like going any more, and say so when asked for the reason.',
    replies: [{ when: 'reason|why', say: 'I just do not feel like going any more.' }],
    actions: [],
  },
  {
    id: 'cancel-business',
    purpose: 'Business bookings may always be cancelled.',
    customer: 'asha-rao',
    opening:
      'Asha Rao here, id asha-rao. My meeting in Montreal fell through: please cancel BK1006.',
    actions: [['cancel_booking', { booking_ref: 'BK1006' }]],
  },
  {
    id: 'airline-cancelled',
    purpose:
      'A flight cancelled by the airline: refund, and a voucher for each passenger of a silver customer.',
    customer: 'jonas-vey',
    opening:
      'You cancelled our flight, booking BK1003! Refund it, and I expect something for the trouble. I am jonas-vey.',
    actions: [
      ['cancel_booking', { booking_ref: 'BK1003' }],
      ['issue_voucher', { customer_id: 'jonas-vey', amount: 200, reason: 'cancelled' }],
    ],
    told: ['200'],
  },
  {
    id: 'delay-not-entitled',
    purpose: 'A standard customer in economy without insurance is not entitled to a voucher.',
    customer: 'pell-okoro',
    opening: 'My flight in BK1007 is delayed. I want a voucher. pell-okoro is my id.',
    actions: [],
  },
  {
    id: 'delay-gold',
    purpose: 'A gold customer who complains about a delay gets a voucher.',
    customer: 'asha-rao',
    opening: 'BK1005 is delayed again. What do I get for this? Asha Rao, asha-rao.',
    actions: [['issue_voucher', { customer_id: 'asha-rao', amount: 50, reason: 'delayed' }]],
    told: ['50'],
  },
  {
    id: 'change-day',
    purpose: 'An economy booking moves to another day without a fee.',
    customer: 'ivy-chen',
    opening:
      'Can we fly from Oslo to Lisbon on the 7th instead of the 5th? Booking BK1012, I am ivy-chen.',
    actions: [['change_flight', { booking_ref: 'BK1012', flight_id: 'KE110-0307' }]],
  },
  {
    id: 'change-light-refused',
    purpose: 'A light booking cannot move, and the caller does not want to pay for a higher cabin.',
    customer: 'pell-okoro',
    opening: 'Move BK1008 to the 7th, please. I will not pay anything for it. Id: pell-okoro.',
    replies: [
      {
        when: 'upgrade|raise|higher cabin|economy',
        say: 'No, then leave it as it is. Goodbye.',
        stop: true,
      },
    ],
    actions: [],
  },
  {
    id: 'change-light-upgraded',
    purpose: 'A light booking is raised to economy first, and then moves.',
    customer: 'pell-okoro',
    opening:
      'I need BK1008 on the 7th of March instead; raise it to economy if you must. My id is pell-okoro.',
    replies: [{ when: 'upgrade|raise|difference', say: 'Yes, raise it to economy and move it.' }],
    actions: [
      ['change_cabin', { booking_ref: 'BK1008', cabin: 'economy' }],
      ['change_flight', { booking_ref: 'BK1008', flight_id: 'KE110-0307' }],
    ],
    told: ['40'],
  },
  {
    id: 'bags-free',
    purpose: 'Silver customers have two free bags in economy for each passenger.',
    customer: 'jonas-vey',
    opening: 'We will bring four bags in all on BK1004. Is that fine? I am jonas-vey.',
    actions: [['add_bags', { booking_ref: 'BK1004', bags: 4, paid_bags: 0 }]],
  },
  {
    id: 'bags-paid',
    purpose: 'Further bags of a standard customer are paid.',
    customer: 'mira-holt',
    opening: 'I need three bags in all on BK1002. My customer id is mira-holt.',
    actions: [['add_bags', { booking_ref: 'BK1002', bags: 3, paid_bags: 2 }]],
    told: ['80'],
  },
  {
    id: 'book-economy',
    purpose: 'A first booking, the caller found by e-mail.',
    customer: 'noor-dahl',
    opening:
      'I would like to fly from Vienna to Dublin on 6 March, economy, just me, one bag, no insurance. My e-mail is noor.dahl@example.com.',
    knows: 'Your name is Noor Dahl. Airport codes: VIE and DUB.',
    actions: [
      [
        'book_flight',
        {
          customer_id: 'noor-dahl',
          flight_id: 'KE204-0306',
          cabin: 'economy',
          passengers: ['Noor Dahl'],
          bags: 1,
          insurance: false,
        },
      ],
    ],
    told: ['119'],
  },
  {
    id: 'book-business-pair',
    purpose: 'A booking for two with insurance.',
    customer: 'ivy-chen',
    opening:
      'Book Paris to Montreal on 12 March in business for Ivy Chen and Bo Chen, two bags in all, insured. Id ivy-chen.',
    knows: 'Airport codes: CDG and YUL.',
    actions: [
      [
        'book_flight',
        {
          customer_id: 'ivy-chen',
          flight_id: 'KE701-0312',
          cabin: 'business',
          passengers: ['Ivy Chen', 'Bo Chen'],
          bags: 2,
          insurance: true,
        },
      ],
    ],
    told: ['1430'],
  },
  {
    id: 'ask-departure',
    purpose: 'A question that changes nothing.',
    customer: 'mira-holt',
    opening: 'When does my flight in BK1002 leave? This is mira-holt.',
    replies: [{ when: 'depart|leave|\\d\\d:\\d\\d', say: 'Thank you. Goodbye.', stop: true }],
    actions: [],
    told: ['12:30'],
  },
  {
    id: 'cancel-one-of-two',
    purpose: 'Of two bookings only the recent one may be cancelled.',
    customer: 'mira-holt',
    opening: 'Cancel both of my bookings, BK1001 and BK1002. I am mira-holt.',
    knows: 'If only one can be cancelled, cancel that one.',
    replies: [{ when: 'only|one of|bk1001', say: 'Then cancel just that one, please.' }],
    actions: [['cancel_booking', { booking_ref: 'BK1001' }]],
  },
  {
    id: 'raise-cabin',
    purpose: 'A raise to business costs the difference of the fares for each passenger.',
    customer: 'ivy-chen',
    opening:
      'We want to sit in business on BK1012, both of us. What does it cost? Please do it. Id ivy-chen.',
    actions: [['change_cabin', { booking_ref: 'BK1012', cabin: 'business' }]],
    told: ['442'],
  },
  {
    id: 'departed',
    purpose: 'A flight that has departed cannot be cancelled.',
    customer: 'tomas-rey',
    opening: 'I missed my flight yesterday, BK1011. Cancel it and give me the money. tomas-rey.',
    actions: [],
  },
  {
    id: 'hand-over',
    purpose: 'What no rule covers goes to a person.',
    customer: 'asha-rao',
    opening:
      'I left my violin in the lounge in Athens last week. Who can find it? My id is asha-rao.',
    actions: [['hand_over', { summary: 'Lost violin in the lounge in Athens' }]],
    basis: ['DB', 'ACTION'],
  },
]

/** The airline's twenty tasks. */
export const kestrelTasks: readonly EvalTask[] = tasks.map(toTask).map(nameOnly)

/** The task in tau2's format, with the lines of a caller who answers what desks usually ask. */
function toTask(task: KestrelTask): EvalTask {
  const { id, purpose, customer, opening, knows = '', actions, told = [] } = task
  return {
    id,
    description: { purpose },
    user_scenario: {
      instructions: {
        domain: 'airline',
        reason_for_call: opening,
        known_info: `Your customer id is ${customer}. ${knows}`.trim(),
        task_instructions:
          'Agree to what serves your wish. If it is refused, accept that and end the call.',
      },
    },
    evaluation_criteria: {
      actions: actions.map(([name, args], index) => ({
        action_id: `${id}_${index}`,
        requestor: 'assistant',
        name,
        arguments: args,
      })),
      communicate_info: told,
      reward_basis: task.basis ?? ['DB', 'COMMUNICATE'],
    },
    user_script: {
      opening,
      replies: [...(task.replies ?? []), ...generalReplies(customer)],
      fallback: 'Could you please look into it?',
    },
  }
}

/**
 * Asked who they are, they say; asked to confirm, they agree; told that it is done or impossible, they hang up. The
 * order matters: a desk that explains and then asks has asked.
 */
function generalReplies(customer: string): readonly ScriptedReply[] {
  return [
    {
      when: 'customer (id|number)|e-?mail|who am i|your (full )?name|identif',
      say: `My customer id is ${customer}.`,
    },
    {
      when: 'shall i|should i|would you like|do you want|may i|\\bproceed\\b|go ahead|\\bconfirm\\b|is that (ok|okay|right)|correct\\?',
      say: 'Yes, please.',
      times: 4,
    },
    {
      when: "cannot|can't|unable to|not able to|not (possible|allowed|eligible|entitled|permitted)|unfortunately",
      say: 'I see. Then leave it as it is. Goodbye.',
      stop: true,
    },
    {
      when: "(has|have) been|\\b(is|are) now\\b|\\bdone\\b|successfully|all set|i( have|'ve)( just)? (cancelled|canceled|booked|changed|moved|added|issued|raised|upgraded)|hand(ed|ing) (you )?over|transferr",
      say: 'Thank you, that is all. Goodbye.',
      stop: true,
    },
  ]
}

/** A summary's words are free, so of a hand-over only the name is compared. */
function nameOnly(task: EvalTask): EvalTask {
  const criteria = task.evaluation_criteria
  const actions = criteria?.actions?.map((action) =>
    action.name === 'hand_over' ? { ...action, compare_args: [] } : action,
  )
  return { ...task, evaluation_criteria: { ...criteria, ...(actions && { actions }) } }
}
