import { fromNextRecipient } from '../../../src/compat/message-handler.ts'
import { clientRoutingExtension } from '../../../src/protocol/extensions.ts'
import { defineScheduler } from '../../../src/team/schedulers/scheduler.ts'
import { describeScheduler } from '../../contracts/scheduler.ts'
import { member, type ScriptedMember } from '../../fixtures/members.ts'

describeScheduler('workflow', {
  mode: 'workflow',
  scheduler: { type: 'workflow', steps: [{ agentId: 'lead' }, { agentId: 'helper' }] },
  broken: { type: 'workflow', steps: [{ agentId: 'lead' }, { agentId: 'nobody' }] },
  lead: () => member('lead'),
  leadAsked: 1,
})

describeScheduler('supervisor', {
  mode: 'supervisor',
  scheduler: { type: 'supervisor', supervisorAgentId: 'lead' },
  broken: { type: 'supervisor', supervisorAgentId: 'nobody' },
  lead: () =>
    member('lead', (text) =>
      text.startsWith('helper answered')
        ? `report: ${text.split('\n\n<team>')[0]}`
        : '{"delegate": {"agent_id": "helper", "message": "help"}}',
    ),
  leadAsked: 2,
})

describeScheduler('router', {
  mode: 'router',
  scheduler: { type: 'router', defaultAgentId: 'lead' },
  broken: { type: 'router', defaultAgentId: 'nobody' },
  lead: () => routing('helper'),
  leadAsked: 1,
})

/** A member that knows the routing extension and passes everything on. */
function routing(recipient: string): ScriptedMember {
  return member(
    'lead',
    (_text, turn) => ({
      ...turn.reply('passed on'),
      metadata: { [clientRoutingExtension]: { recipient } },
    }),
    { details: { extensions: [{ uri: clientRoutingExtension }] } },
  )
}

const relay = defineScheduler<{ readonly order: readonly string[] }>({
  type: 'relay',
  members: ({ order }) => order,
  first: ({ order }) => order[0],
  create: ({ order }) => ({
    async schedule(run) {
      // Chance decides on something, so that a decision which is made twice shows.
      const mark = await run.decide(() => Math.random())
      let reply = run.reply(`${mark}`)
      for (const id of order) reply = await run.ask(id, `step after ${mark}`)
      return reply
    },
  }),
})

describeScheduler('a scheduler of one’s own', {
  mode: 'relay',
  scheduler: relay({ order: ['lead', 'helper'] }),
  broken: relay({ order: ['lead', 'nobody'] }),
  lead: () => member('lead'),
  leadAsked: 1,
})

const inTurn = (ids: readonly string[]) => ({
  determineNextRecipient: ({ sender }: { readonly sender: string | undefined }) =>
    ids[sender === undefined ? 0 : ids.indexOf(sender) + 1],
})

describeScheduler('determineNextRecipient', {
  mode: 'next-recipient',
  scheduler: fromNextRecipient(inTurn(['lead', 'helper'])),
  broken: fromNextRecipient(inTurn(['lead', 'helper']), { members: ['nobody'] }),
  lead: () => member('lead'),
  leadAsked: 1,
})
