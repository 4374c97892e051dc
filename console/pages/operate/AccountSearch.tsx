import { Search } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useLetterKey } from '../../lib/useLetterKey.ts'
import { TextInput } from '../../ui/TextInput.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

/** Typing goes on for as long as the pauses are shorter than this. */
const PAUSE_MS = 250

/** Asks the server once somebody has paused, so that a list of thousands can be searched. */
export function AccountSearch({ value, onFind }: { value: string; onFind: (search: string) => void }) {
  const { accounts, shell } = useWords()
  const field = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState(value)
  const latest = useRef(onFind)
  useEffect(() => {
    latest.current = onFind
  })
  useEffect(() => setTyped(value), [value])
  useEffect(() => {
    if (typed.trim() === value) return
    const pause = setTimeout(() => latest.current(typed.trim()), PAUSE_MS)
    return () => clearTimeout(pause)
  }, [typed, value])
  useLetterKey('/', shell.shortcuts.search, () => field.current?.focus())
  return (
    <div className="relative border-b border-line p-3">
      <Search
        aria-hidden="true"
        className="pointer-events-none absolute inset-y-0 start-5.5 my-auto size-4 text-faint"
      />
      <TextInput
        ref={field}
        type="search"
        aria-label={accounts.search}
        placeholder={accounts.search}
        maxLength={200}
        className="ps-8.5"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </div>
  )
}
