import { signal } from '@preact/signals'

/** The colours: as the system has them, or as the user chose. */
type Theme = 'system' | 'light' | 'dark'

const kept = 'corral.theme'
const themes: readonly Theme[] = ['system', 'light', 'dark']

/** The user's choice of colours. */
export const theme = signal<Theme>(
  themes.find((one) => one === localStorage.getItem(kept)) ?? 'system',
)

/** Puts the choice into effect. */
export function applyTheme(): void {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
}

/** Goes on to the next choice and keeps it. */
export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system'
  localStorage.setItem(kept, theme.value)
  applyTheme()
}
