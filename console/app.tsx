import { useEffect, useRef } from 'preact/hooks'
import { loginAsked } from './logic/server.ts'
import { route } from './logic/state.ts'
import { LoginForm } from './parts/login.tsx'
import { Nav } from './parts/nav.tsx'
import { AgentsView } from './views/agents.tsx'
import { ChatView } from './views/chat.tsx'
import { HomeView } from './views/home.tsx'
import { TaskView } from './views/task.tsx'
import { TasksView } from './views/tasks.tsx'
import { TeamsView } from './views/teams.tsx'
import { WebhooksView } from './views/webhooks.tsx'

/** The page: the navigation, and the view that the address names. */
export function App() {
  const { view } = route.value
  const main = useRef<HTMLElement>(null)
  const first = useRef(true)
  useEffect(() => {
    if (first.current) first.current = false
    else main.current?.focus()
    scrollTo(0, 0)
  }, [view])
  return (
    <div class="app">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <Nav />
      <main id="content" tabIndex={-1} ref={main}>
        {loginAsked.value ? <LoginForm asked={loginAsked.value} /> : <View />}
      </main>
    </div>
  )
}

function View() {
  const here = route.value
  switch (here.view) {
    case 'home':
      return <HomeView />
    case 'chat':
      return <ChatView key={here.agent} agent={here.agent} context={here.context} />
    case 'teams':
      return <TeamsView id={here.id} />
    case 'tasks':
      return <TasksView filters={here.query} />
    case 'task':
      return <TaskView key={here.id} route={here} />
    case 'webhooks':
      return <WebhooksView />
    case 'agents':
      return <AgentsView key={here.url} url={here.url} tab={here.tab} />
  }
}
