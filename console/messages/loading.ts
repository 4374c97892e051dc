import { onPreferences, type Preferences, preferences } from '../lib/preferences.ts'
import type { BaseMessages, Catalogue, LazyBundle, LazyMessages } from './catalogue.ts'

type Language = Exclude<Preferences['language'], 'auto'>

/** The chosen language, or the first supported language of the browser. */
function languageFor(chosen: Preferences['language'], wanted: readonly string[]): Language {
  if (chosen !== 'auto') return chosen
  for (const tag of wanted) {
    const language = tag.toLowerCase().split('-')[0]
    if (language === 'en' || language === 'de') return language
  }
  return 'en'
}

/** A regional variant such as `en-GB`, which decides the format of numbers and dates. */
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

const needed = new Set<LazyBundle>()
const listeners = new Set<() => void>()
let wanted: Language
let current: LoadedMessages | undefined

/**
 * Loads the base messages and switches the language whenever the preference changes. If the messages of the new
 * language cannot be loaded, the old language stays.
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

/** Loads the messages of a page together with its code. */
export function loadMessages(bundles: readonly LazyBundle[]): Promise<void> {
  for (const bundle of bundles) needed.add(bundle)
  return complete().catch((error: unknown) => {
    // Otherwise every later page would wait for these and fail too.
    for (const bundle of bundles) if (current === undefined || !(bundle in current.messages)) needed.delete(bundle)
    throw error
  })
}

/**
 * Switches the language once all needed messages are loaded. Messages that arrive later in the same language belong to
 * no visible page, so listeners are not notified.
 */
async function complete(): Promise<void> {
  const [language, bundles] = [wanted, [...needed]]
  const { base, lazy } = await LANGUAGE_MODULES[language]()
  const loaded = await Promise.all(bundles.map(async (bundle) => [bundle, await lazy[bundle]()] as const))
  if (language !== wanted || bundles.length !== needed.size) return complete()
  if (current?.language === language) {
    Object.assign(current.messages, Object.fromEntries(loaded))
    return
  }
  current = { language, messages: { ...base, ...Object.fromEntries(loaded) } as Catalogue }
  for (const listener of listeners) listener()
}

export function currentMessages(): LoadedMessages {
  if (current === undefined) throw new Error('followLanguage() has not loaded the messages yet')
  return current
}

export function onMessagesChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
