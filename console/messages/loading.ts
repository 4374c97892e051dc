import { onPreferences, type Preferences, preferences } from '../lib/preferences.ts'
import type { BaseMessages, Catalogue, LazyArea, LazyMessages } from './catalogue.ts'

type Language = Exclude<Preferences['language'], 'auto'>

/** The choice, else the first of the browser's languages that there is a catalogue for. */
function languageFor(chosen: Preferences['language'], wanted: readonly string[]): Language {
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

interface LanguageModule {
  readonly base: BaseMessages
  readonly lazy: LazyMessages
}

interface LoadedMessages {
  readonly language: Language
  readonly messages: Catalogue
}

const LANGUAGE_MODULES: Readonly<Record<Language, () => Promise<LanguageModule>>> = {
  en: () => import('./en.ts'),
  de: () => import('./de.ts'),
}

const needed = new Set<LazyArea>()
const listeners = new Set<() => void>()
let wanted: Language
let current: LoadedMessages | undefined

/**
 * Loads the words that every page has, and from then on changes language whenever somebody chooses another. If the new
 * words cannot be loaded, the language stays as it was.
 */
export function followLanguage(onLost: () => void): Promise<void> {
  const follow = async () => {
    const language = languageFor(preferences().language, navigator.languages)
    if (language === wanted) return
    wanted = language
    try {
      await complete()
    } catch (error) {
      if (wanted === language && current !== undefined) wanted = current.language
      throw error
    }
  }
  onPreferences(() => void follow().catch(onLost))
  return follow()
}

/** Loads the words of a page, beside its code: so no page is ever seen without. */
export function loadMessages(areas: readonly LazyArea[]): Promise<void> {
  for (const area of areas) needed.add(area)
  return complete().catch((error: unknown) => {
    // Else every later page would wait for these, and fail with them.
    for (const area of areas) if (current === undefined || !(area in current.messages)) needed.delete(area)
    throw error
  })
}

/**
 * What has been loaded before costs nothing. A language is spoken once all of its words are there that are needed; words that
 * come later in the same language concern no page that is shown, so nobody is told of them.
 */
async function complete(): Promise<void> {
  const [language, areas] = [wanted, [...needed]]
  const { base, lazy } = await LANGUAGE_MODULES[language]()
  const loaded = await Promise.all(areas.map(async (area) => [area, await lazy[area]()] as const))
  if (language !== wanted || areas.length !== needed.size) return complete()
  if (current?.language === language) {
    Object.assign(current.messages, Object.fromEntries(loaded))
    return
  }
  current = { language, messages: { ...base, ...Object.fromEntries(loaded) } as Catalogue }
  for (const listener of listeners) listener()
}

export function currentMessages(): LoadedMessages {
  if (current === undefined) throw new Error('nothing can be said before keepLanguage()')
  return current
}

export function onMessagesChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
