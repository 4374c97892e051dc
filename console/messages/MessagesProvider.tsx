import { createContext, type ReactNode, useContext, useEffect, useMemo, useSyncExternalStore } from 'react'
import { createFormats, type Formats } from '../lib/formats.ts'
import { chosenZone, usePreferences } from '../lib/preferences.ts'
import type { Catalogue } from './catalogue.ts'
import { currentMessages, localeFor, onMessagesChange } from './loading.ts'

const MessagesContext = createContext<Catalogue | undefined>(undefined)
const FormatsContext = createContext<Formats | undefined>(undefined)

/** Provides messages and formats, and switches both when the language changes. */
export function MessagesProvider({ children }: { children: ReactNode }) {
  const { zone } = usePreferences()
  const { language, messages } = useSyncExternalStore(onMessagesChange, currentMessages)
  useEffect(() => {
    document.documentElement.lang = language
  }, [language])
  const formats = useMemo(
    () => createFormats(localeFor(language, navigator.languages), chosenZone(zone)),
    [language, zone],
  )
  return (
    <MessagesContext value={messages}>
      <FormatsContext value={formats}>{children}</FormatsContext>
    </MessagesContext>
  )
}

function given<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('used outside MessagesProvider')
  return value
}

export const useMessages = (): Catalogue => given(useContext(MessagesContext))
export const useFormats = (): Formats => given(useContext(FormatsContext))

/** The message for a name from the server. An unknown name is shown as it is. */
export const messageFor = (messages: Readonly<Record<string, string>>, name: string, otherwise = name): string =>
  messages[name] ?? otherwise
