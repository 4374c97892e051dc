import { useSyncExternalStore } from 'react'

export const THEMES = ['system', 'light', 'dark'] as const
export const LANGUAGES = ['auto', 'en', 'de'] as const

/** The preferences of this browser. The server does not know them. */
export interface Preferences {
  readonly theme: (typeof THEMES)[number]
  readonly language: (typeof LANGUAGES)[number]
  readonly letterKeys: boolean
  /** An IANA name, or `auto` for the time zone of this device. */
  readonly zone: string
}

/** Also read by assets/before-app.js before the first paint. */
const STORED_AS = 'millrace.console'
const DEFAULTS: Preferences = { theme: 'system', language: 'auto', letterKeys: true, zone: 'auto' }

let current = load()
const listeners = new Set<() => void>()

/** Ignores stored values that are not valid. */
function load(): Preferences {
  const stored = readStored()
  return {
    theme: THEMES.find((theme) => theme === stored.theme) ?? DEFAULTS.theme,
    language: LANGUAGES.find((language) => language === stored.language) ?? DEFAULTS.language,
    letterKeys: stored.letterKeys !== false,
    zone: isZone(stored.zone) ? stored.zone : DEFAULTS.zone,
  }
}

function readStored(): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(STORED_AS) ?? '{}')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

export function isZone(value: unknown): value is string {
  try {
    return typeof value === 'string' && new Intl.DateTimeFormat('en', { timeZone: value }) !== undefined
  } catch {
    return false
  }
}

export const preferences = (): Preferences => current

export function prefer(change: Partial<Preferences>): void {
  current = { ...current, ...change }
  try {
    localStorage.setItem(STORED_AS, JSON.stringify(current))
  } catch {
    // Without storage the preference lasts as long as the page.
  }
  notifyListeners()
}

function notifyListeners() {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  // Follow a change made in another tab.
  const follow = (event: StorageEvent) => {
    if (event.key !== STORED_AS) return
    current = load()
    notifyListeners()
  }
  listeners.add(listener)
  addEventListener('storage', follow)
  return () => {
    listeners.delete(listener)
    removeEventListener('storage', follow)
  }
}

export const usePreferences = (): Preferences => useSyncExternalStore(subscribe, preferences)
export const onPreferences = subscribe

export const chosenZone = (zone: string): string =>
  zone === 'auto' ? Intl.DateTimeFormat().resolvedOptions().timeZone : zone

/** Applies the chosen theme and follows the system if that is the choice. */
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
