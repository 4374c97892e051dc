import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { createFormats, type Formats } from '../lib/formats.ts'
import { chosenZone, usePreferences } from '../lib/preferences.ts'
import type { Catalogue } from './catalogue.ts'
import { type Language, languageFor, loadCatalogue, localeFor } from './language.ts'

interface Spoken {
  readonly language: Language
  readonly words: Catalogue
}

const WordsContext = createContext<Catalogue | undefined>(undefined)
const FormatsContext = createContext<Formats | undefined>(undefined)

/** Gives every component its words and its ways to write numbers and times, and changes both while the page stands. */
export function WordsProvider({ first, children }: { first: Spoken; children: ReactNode }) {
  const { language: chosen, zone } = usePreferences()
  const [spoken, setSpoken] = useState(first)
  const wanted = languageFor(chosen, navigator.languages)

  useEffect(() => {
    let current = true
    void loadCatalogue(wanted).then((words) => {
      if (current) setSpoken({ language: wanted, words })
    })
    return () => {
      current = false
    }
  }, [wanted])

  useEffect(() => {
    document.documentElement.lang = spoken.language
  }, [spoken.language])

  const formats = useMemo(
    () => createFormats(localeFor(spoken.language, navigator.languages), chosenZone(zone)),
    [spoken.language, zone],
  )
  return (
    <WordsContext value={spoken.words}>
      <FormatsContext value={formats}>{children}</FormatsContext>
    </WordsContext>
  )
}

function given<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('outside of WordsProvider')
  return value
}

export const useWords = (): Catalogue => given(useContext(WordsContext))
export const useFormats = (): Formats => given(useContext(FormatsContext))
