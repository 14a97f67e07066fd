import type { RelayCard, SignatureVerdict } from '../../src/console/api.ts'
import type { AgentCard } from '../../src/protocol/types.ts'
import { countOf } from '../logic/words.ts'
import { JsonText } from './json-text.tsx'

type Verdicts = Readonly<Record<SignatureVerdict['verdict'], string>>

const tones: Verdicts = { valid: 'good', unsigned: 'calm', invalid: 'bad', 'unknown-key': 'wait' }
const verdicts: Verdicts = {
  valid: 'signed, and the signature holds',
  unsigned: 'not signed',
  invalid: 'the signature does not hold',
  'unknown-key': 'signed by a key that nobody here knows',
}

/** A card: what it promises, what its signature is worth, what is wrong with it. */
export function CardPanel({ found }: { readonly found: RelayCard }) {
  const { card, signature, faults, cardUrl } = found
  return (
    <div class="card-panel">
      <section class="panel pad" aria-label="Card">
        <p>{card.description}</p>
        <p class="row tight">
          <span class={`chip ${tones[signature.verdict]}`}>{verdicts[signature.verdict]}</span>
          <span class={`chip ${faults.length === 0 ? 'good' : 'bad'}`}>
            {faults.length === 0 ? 'nothing wrong with the card' : countOf(faults.length, 'fault')}
          </span>
          <span class="soft">{signature.detail}</span>
        </p>
        {faults.length > 0 && (
          <ul class="faults">
            {faults.map(({ field, description }) => (
              <li key={`${field} ${description}`}>
                <code>{field}</code> {description}
              </li>
            ))}
          </ul>
        )}
        <Facts card={card} cardUrl={cardUrl} />
      </section>
      {card.skills.length > 0 && (
        <section class="panel pad" aria-label="Skills">
          <h2>{countOf(card.skills.length, 'skill')}</h2>
          <ul class="skills">
            {card.skills.map(({ id, name, description, tags }) => (
              <li key={id}>
                <b>{name}</b> <span class="soft">{description}</span>{' '}
                {tags.map((tag) => (
                  <span key={tag} class="chip calm">
                    {tag}
                  </span>
                ))}
              </li>
            ))}
          </ul>
        </section>
      )}
      <details class="panel pad">
        <summary>The card as JSON</summary>
        <JsonText value={card} />
      </details>
    </div>
  )
}

function Facts({ card, cardUrl }: { readonly card: AgentCard; readonly cardUrl: string }) {
  const { capabilities } = card
  const can = [
    capabilities.streaming ? 'streams' : 'does not stream',
    capabilities.pushNotifications ? 'webhooks' : 'no webhooks',
    ...(capabilities.extensions ?? []).map(({ uri }) => uri),
  ]
  const facts: readonly (readonly [string, string])[] = [
    ['version', card.version],
    ['from', card.provider?.organization ?? '–'],
    [
      'answers at',
      card.supportedInterfaces
        .map(
          ({ url, protocolBinding, protocolVersion }) =>
            `${url} (${protocolBinding} ${protocolVersion})`,
        )
        .join('\n'),
    ],
    ['can', can.join('\n')],
    ['takes', card.defaultInputModes.join(', ')],
    ['gives', card.defaultOutputModes.join(', ')],
    ['signs in by', Object.keys(card.securitySchemes ?? {}).join(', ') || 'nothing'],
    ['card', cardUrl],
  ]
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
