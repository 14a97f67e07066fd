import { render } from 'preact'
import { App } from './app.tsx'
import { followChanges } from './logic/live.ts'
import { keepUpToDate } from './logic/state.ts'
import { applyTheme } from './logic/theme.ts'

const place = document.getElementById('page')
if (place) {
  applyTheme()
  keepUpToDate()
  void followChanges(new AbortController().signal)
  render(<App />, place)
}
