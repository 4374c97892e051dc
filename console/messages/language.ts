import type { Preferences } from '../lib/preferences.ts'

export type Language = Exclude<Preferences['language'], 'auto'>

/** The choice, else the first of the browser's languages that there is a catalogue for. */
export function languageFor(chosen: Preferences['language'], wanted: readonly string[]): Language {
  if (chosen !== 'auto') return chosen
  for (const tag of wanted) {
    const language = tag.toLowerCase().split('-')[0]
    if (language === 'en' || language === 'de') return language
  }
  return 'en'
}

/** `en-GB` where that is how somebody reads English; numbers and dates follow it. */
export const localeFor = (language: Language, wanted: readonly string[]): string =>
  wanted.find((tag) => tag.toLowerCase().split('-')[0] === language) ?? language
