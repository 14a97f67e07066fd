/** Writes the scenes of the orchestrator's plan. */

export default function compose(message) {
  const plan = message.parts.find((part) => part.data?.subject)?.data
  if (!plan) return 'Once upon a time there was a story without a plan, and nobody could tell it.'
  const { subject, hero, calling, place, want, price } = plan
  return [
    `Once upon a time, in a realm that still told tales of ${subject}, there lived a ${calling} named ${hero}.`,
    `Every evening ${hero} looked towards ${place} and thought of ${want}, for it was said that whoever found it would understand ${subject} as nobody had before.`,
    `So ${hero} set out. Beyond the last village the road forgot where it was going, and the travellers there spoke only of ${subject}: some with longing, some with fear.`,
    `At ${place} a gatekeeper waited. "You may have what you seek," the gatekeeper said, "for ${price}." ${hero} thought of the evenings at home, and paid.`,
    `What ${hero} brought back was smaller than the tales had promised and shone more than anyone had dared to hope. And from that day on, when children asked about ${subject}, there was a ${calling} who could answer.`,
  ].join('\n\n')
}
