import { onPreferences, preferences } from './preferences.ts'

/** Keeps the page in the chosen theme, and with the system where that is the choice. */
export function keepTheme(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const apply = () => {
    const { theme } = preferences()
    document.documentElement.dataset.theme = theme === 'system' ? (dark.matches ? 'dark' : 'light') : theme
  }
  apply()
  dark.addEventListener('change', apply)
  onPreferences(apply)
}
