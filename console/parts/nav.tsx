import type { Me, ServerFacts } from '../../src/console/api.ts'
import { isLive } from '../logic/live.ts'
import type { Route } from '../logic/route.ts'
import { isSignedIn, signOut } from '../logic/server.ts'
import { now, roster, route } from '../logic/state.ts'
import { nextTheme, theme } from '../logic/theme.ts'
import { duration } from '../logic/words.ts'
import { Mark } from './mark.tsx'

type ViewName = Route['view']

const links: readonly { readonly name: string; readonly views: readonly ViewName[] }[] = [
  { name: 'Home', views: ['home'] },
  { name: 'Chat', views: ['chat'] },
  { name: 'Teams', views: ['teams'] },
  { name: 'Tasks', views: ['tasks', 'task'] },
  { name: 'Webhooks', views: ['webhooks'] },
  { name: 'Agents', views: ['agents'] },
]

/** The way around the console. */
export function Nav() {
  const { view } = route.value
  const waiting = roster.value?.needsYou.length ?? 0
  return (
    <nav aria-label="Console">
      <div class="brand">
        <Mark /> Corral
      </div>
      <ul>
        {links.map(({ name, views }) => (
          <li key={name}>
            <a
              href={name === 'Home' ? '#/' : `#/${name.toLowerCase()}`}
              aria-current={views.includes(view) ? 'page' : undefined}
            >
              {name}
              {name === 'Home' && waiting > 0 && (
                <span class="badge" aria-hidden="true">
                  {waiting}
                </span>
              )}
            </a>
          </li>
        ))}
      </ul>
      <NavFoot server={roster.value?.server} me={roster.value?.me} />
    </nav>
  )
}

function NavFoot(props: {
  readonly server?: ServerFacts | undefined
  readonly me?: Me | undefined
}) {
  const { server, me } = props
  return (
    <footer>
      {server && (
        <p>
          {location.host} · {server.store}
          <br />
          up {duration(Math.max(now.value - Date.parse(server.startedAt), 0))} · v{server.version}
        </p>
      )}
      {me?.name && <p>{me.operator ? `${me.name}, operator` : me.name}</p>}
      <p class="row tight">
        <span class={`live ${isLive.value ? 'on' : ''}`} role="status">
          {isLive.value ? 'live' : 'connecting'}
        </span>
        <button type="button" class="plain" onClick={nextTheme} title="Change the colours">
          {theme.value === 'system' ? 'auto' : theme.value}
        </button>
        {isSignedIn() && (
          <button type="button" class="plain" onClick={leave}>
            Sign out
          </button>
        )}
      </p>
    </footer>
  )
}

function leave(): void {
  signOut()
  location.reload()
}
